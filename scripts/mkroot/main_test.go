package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/scripts/mkroot/gen"
)

// readRoot returns the bytes of every record of a root, in id order.
func readRoot(t *testing.T, dir string) (records [][]byte) {
	t.Helper()
	s, err := native.Open(context.Background(), dir, native.Options{FS: osfs.New(), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	res, err := s.Execute(store.FindRecords{UpperInclusive: store.Latest, MaxRows: store.Unbounded})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range res.(store.FoundResult).Records {
		if _, err := record.ParseStrict(r.Bytes); err != nil {
			t.Errorf("record %d: %v", r.ID, err)
		}
		records = append(records, bytes.Clone(r.Bytes))
	}
	return records
}

// sourced returns the bytes of every record of a source.
func sourced(t *testing.T, src gen.Source) (records [][]byte) {
	t.Helper()
	for {
		v, err := src.Next(nil)
		if err != nil {
			return records
		}
		records = append(records, v.Bytes())
	}
}

func same(t *testing.T, got, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("record %d differs", i+1)
		}
	}
}

// TestSyntheticRoot needs more than one batch.
func TestSyntheticRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	var out strings.Builder
	args := strings.Fields("--records 300 --min-size 1KiB --max-size 100KiB --seed 5 --links 50% --seals 1% --capacity 1GiB")
	if err := run(context.Background(), append(args, dir), &out, nil); err != nil {
		t.Fatal(err)
	}
	src, err := gen.NewSynthetic(gen.SyntheticOptions{Records: 300, MinSize: 1 << 10, MaxSize: 100 << 10, Seed: 5, Links: 0.5, Seals: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	want := sourced(t, src)
	same(t, readRoot(t, dir), want)
	if !strings.HasPrefix(out.String(), dir+": 300 records, ") {
		t.Errorf("said %q", out.String())
	}
	if info, err := os.Stat(filepath.Join(dir, "records")); err != nil || info.Size() != 1<<30 {
		t.Errorf("arena: %v, %v", info, err)
	}
	if n := len(bytes.Join(want, nil)); n < batchLen {
		t.Errorf("%d bytes are less than a batch", n)
	}
	// A second run keeps what is there.
	if err := run(context.Background(), append(args, dir), &out, nil); err == nil || !strings.Contains(err.Error(), "300 records already") {
		t.Errorf("second run: %v", err)
	}
	same(t, readRoot(t, dir), want)
}

func TestHistoryRoot(t *testing.T) {
	const table = "1\taaaa\t1387563974\tREADME\t-\tb1\t10\t-\n2\tbbbb\t1387563975\tREADME\tb1\t-\t0\tv1\n"
	file := filepath.Join(t.TempDir(), "h.tsv.gz")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte(table)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), os.WriteFile(file, z.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "root")
	var out strings.Builder
	if err := run(context.Background(), []string{"--history", file, "--app", "x", dir}, &out, nil); err != nil {
		t.Fatal(err)
	}
	same(t, readRoot(t, dir), sourced(t, gen.NewHistory(strings.NewReader(table), "x")))
	if !strings.Contains(out.String(), "2 records, ") || !strings.Contains(out.String(), " 10 bytes of data") {
		t.Errorf("said %q", out.String())
	}
	if err := os.WriteFile(file, z.Bytes()[:z.Len()/2], 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(context.Background(), []string{"--history", file, "--app", "x", dir + "2"}, &out, nil)
	if err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("cut file: %v", err)
	}
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	src := stopping{cancel}
	_, err := fill(ctx, options{root: filepath.Join(t.TempDir(), "root")}, src)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "incomplete") {
		t.Errorf("got %v", err)
	}
}

// stopping is a source whose every record is the same and cancels the run.
type stopping struct{ cancel func() }

func (s stopping) Next(buf []byte) (record.View, error) {
	s.cancel()
	return record.BuildBlob(buf, make([]byte, batchLen))
}

func TestRepeatedRecord(t *testing.T) {
	src := stopping{func() {}}
	_, err := fill(context.Background(), options{root: filepath.Join(t.TempDir(), "root")}, src)
	if err == nil || !strings.Contains(err.Error(), "is made twice") {
		t.Errorf("got %v", err)
	}
}

func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":                                "0 roots",
		"--records 1 a b":                 "2 roots",
		"x":                               "either --history FILE or --records N",
		"--records 1 --history f x":       "either",
		"--history f x":                   "go together",
		"--records 1 --app a x":           "go together",
		"--records 1 --links 20 x":        "not a percentage",
		"--records 1 --links 101% x":      "between 0 and 1",
		"--records 1 --min-size 2 x":      "min <= max",
		"--records 1 --max-size 3GiB x":   "too large",
		"--records 1 --max-size many x":   "many",
		"--records -1 x":                  "-1",
		"--history missing.gz --app a x":  "missing.gz",
		"--records 1 --capacity 65537 ./": "",
	} {
		err := run(context.Background(), strings.Fields(args), nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
	var usage strings.Builder
	if err := run(context.Background(), []string{"--help"}, nil, &usage); !errors.Is(err, flag.ErrHelp) || !strings.Contains(usage.String(), "-min-size") {
		t.Errorf("help: %v, %q", err, usage.String())
	}
}
