package cmd_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
	"github.com/lace-store/lace/scripts/mkroot/gen"
)

// listing names every entry of a tree with its mode, size, modification time
// and a digest of its bytes. An arena is sparse, so tests keep it small.
func listing(dir string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		digest := sha256.New()
		if info.Mode().IsRegular() {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := io.Copy(digest, f); err != nil {
				return err
			}
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %d %d %x\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano(), digest.Sum(nil)[:8])
		return nil
	})
	return b.String(), err
}

// snapshot remembers a tree: `snapshot ROOT`. unchanged wants it to be the
// same still: names, modes, sizes, bytes and modification times.
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: snapshot ROOT")
	}
	text, err := listing(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0])+".snapshot", []byte(text), 0o666))
}

func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] unchanged ROOT")
	}
	want := ts.ReadFile(args[0] + ".snapshot")
	got, err := listing(ts.MkAbs(args[0]))
	ts.Check(err)
	if (got == want) == neg {
		ts.Fatalf("%s was:\n%s\nand is:\n%s", args[0], want, got)
	}
}

// document wants stdout to be exactly one JSON document and checks fields of
// it: `document outcome=done retained.records=2 error.exit_code=2`. A field
// that must be absent is written `!name`, one of any value `name`.
func document(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: document [FIELD=VALUE | FIELD | !FIELD]...")
	}
	text := ts.ReadFile("stdout")
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("stdout is no JSON document: %v\n%s", err, text)
	}
	if _, err := dec.Token(); err != io.EOF {
		ts.Fatalf("stdout has more than one document (%v):\n%s", err, text)
	}
	for _, arg := range args {
		name, absent := strings.CutPrefix(arg, "!")
		name, want, valued := strings.Cut(name, "=")
		value, ok := dig(doc, strings.Split(name, "."))
		switch {
		case absent && ok:
			ts.Fatalf("field %s is %v, want none\n%s", name, value, text)
		case absent:
		case !ok:
			ts.Fatalf("there is no field %s\n%s", name, text)
		case valued && fmt.Sprint(value) != want:
			ts.Fatalf("field %s is %v, want %s\n%s", name, value, want, text)
		}
	}
}

// dig follows names and indexes into a document.
func dig(value any, path []string) (any, bool) {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			if step == "len" {
				value = len(v)
				continue
			}
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// digest sets $DIGEST to the kept digest that a preview printed: `digest stdout`.
func digest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: digest FILE")
	}
	_, rest, ok := strings.Cut(ts.ReadFile(args[0]), "kept digest")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		ts.Fatalf("there is no kept digest in\n%s", ts.ReadFile(args[0]))
	}
	ts.Setenv("DIGEST", fields[0])
}

// hostile makes a root of one record whose fields carry terminal control
// sequences, and a policy file with such a name and text: `hostile ROOT`.
func hostile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hostile ROOT")
	}
	const evil = "a\x1b[31mred\u202e\u009b2J"
	// The format refuses the control characters below the space.
	ts.Check(fillRoot(ts.MkAbs(args[0]), 1<<20, &single{name: "a\u202e\u009b2J"}))
	policy := "SelectStoredRecord(R) :- Field(R,'Name',_,n), Nope\u202e(n), Feild(R,'\x1b[2J').\n"
	ts.Check(os.WriteFile(ts.MkAbs("p"+evil+".lace"), []byte(policy), 0o666))
	ts.Setenv("EVIL", evil)
}

// single is the source of one Plex of a name.
type single struct {
	name string
	done bool
}

var _ gen.Source = (*single)(nil)

func (s *single) Next(buf []byte) (record.View, error) {
	if s.done {
		return record.View{}, io.EOF
	}
	s.done = true
	blob, err := record.BuildBlob(nil, []byte("x"))
	if err != nil {
		return record.View{}, err
	}
	return record.BuildPlex(buf, record.Coordinates{Group: "g", App: "test", Name: s.name, TAI: record.FormatTAI(1, 0)}, nil, blob)
}

// recordsBytes returns the log of a root and its arena up to the end that the
// log names: what two runs must agree about.
func recordsBytes(dir string) (string, error) {
	log, err := os.ReadFile(filepath.Join(dir, "record-log"))
	if err != nil {
		return "", err
	}
	x, err := native.Examine(context.Background(), dir, native.Options{FS: osfs.New()})
	if err != nil {
		return "", err
	}
	end := x.Table().End()
	if err := x.Close(); err != nil {
		return "", err
	}
	f, err := os.Open(filepath.Join(dir, "records"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	digest := sha256.New()
	digest.Write(log)
	if _, err := io.CopyN(digest, f, int64(end)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", digest.Sum(nil)), nil
}
