package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// rootOf writes the two files of a root of n records with bytes drawn from a
// seed.
func rootOf(t *testing.T, n int, seed uint64) string {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	var arena, log []byte
	for range n {
		var digest record.Digest
		for i := range digest {
			digest[i] = byte(random.Uint32())
		}
		row := rowlog.Row{Hash: record.MakeHash(record.Blob, digest), Offset: uint64(len(arena)), Len: 200 + random.Uint64N(1800)}
		for range row.Len {
			arena = append(arena, byte(random.Uint32()))
		}
		log = row.AppendTo(log)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, root.Records), append(arena, make([]byte, 4096)...))
	write(t, filepath.Join(dir, root.RecordLog), log)
	return dir
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// keptFile writes a kept file of the ids that keep says.
func keptFile(t *testing.T, n int, keep func(id int) bool) string {
	t.Helper()
	set := kept.New(store.Position(n))
	for id := 1; id <= n; id++ {
		if keep(id) {
			set.Add(store.RecordID(id))
		}
	}
	var b bytes.Buffer
	if err := set.WriteFile(&b, [32]byte{}, [32]byte{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kept")
	write(t, path, b.Bytes())
	return path
}

func do(args ...string) error { return run(args, &bytes.Buffer{}) }

const testRecords = 200

// Each database holds after a compaction what was to be kept, byte for byte.
func TestCompact(t *testing.T) {
	source := rootOf(t, testRecords, 1)
	for name, keep := range map[string]func(id int) bool{
		"half":   func(id int) bool { return id%3 != 0 },
		"newest": func(id int) bool { return id > testRecords/2 },
		"oldest": func(id int) bool { return id <= testRecords/2 },
		"all":    func(int) bool { return true },
		"one":    func(id int) bool { return id == testRecords },
	} {
		keep := keptFile(t, testRecords, keep)
		for _, k := range kinds() {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "db")
				for _, args := range [][]string{
					{"load", k.name, dir, source},
					{"check", k.name, dir, source},
					{"compact", k.name, dir, keep},
					{"check", k.name, dir, source, keep},
				} {
					if err := do(args...); err != nil {
						t.Fatalf("%s: %v", args[0], err)
					}
				}
			})
		}
	}
}

// Check tells a database that holds too much, too little or other bytes.
func TestCheck(t *testing.T) {
	source, other := rootOf(t, testRecords, 1), rootOf(t, testRecords, 2)
	longer := rootOf(t, testRecords+1, 1)
	half := keptFile(t, testRecords, func(id int) bool { return id%2 == 0 })
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			if err := do("load", k.name, dir, source); err != nil {
				t.Fatal(err)
			}
			for want, args := range map[string][]string{
				"other bytes":              {other},
				"record #201 is missing":   {longer},
				"found record #1, want #2": {source, half},
			} {
				err := do(append([]string{"check", k.name, dir}, args...)...)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

// A transaction ends within the records and exactly behind the last.
func TestBatches(t *testing.T) {
	source := rootOf(t, 6, 1)
	for n, want := range map[uint64]string{2: "12|34|56||", 4: "1234|56|", 6: "123456||", 7: "123456|"} {
		r, err := openRecords(source)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		err = r.batches(n, func(id uint64, _ []byte) error {
			return got.WriteByte(byte('0' + id))
		}, func() error { return got.WriteByte('|') })
		if err != nil || got.String() != want {
			t.Errorf("%d: got %q, %v, want %q", n, got.String(), err, want)
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"load"}, {"load", "tape", "d", "r"}, {"load", "lmdb", "d"}, {"drop", "lmdb", "d", "r"}, {"compact", "lmdb", "d", "r", "k"}} {
		if err := do(args...); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	var out bytes.Buffer
	if err := run([]string{"kinds"}, &out); err != nil || strings.Count(out.String(), "\n") != len(kinds()) {
		t.Errorf("kinds: %q, %v", out.String(), err)
	}
}
