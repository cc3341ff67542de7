package sweep_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/memory"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

// root is a small root whose records have names.
type root struct {
	sweeptest.Root
	names  []string
	hashes map[string]string // by name
}

// makeRoot admits one Plex a line of the form "name Header=value ...". In a
// value, @x is the hash of record x, which may also come later as "absent", and
// "blob:" and "seal:" lines make records of the other kinds:
//
//	a Topic=x Ref=reply\ @b
//	blob: b
//	seal: s a
func makeRoot(t testing.TB, lines ...string) *root {
	t.Helper()
	r := &root{hashes: map[string]string{"absent": sweeptest.AbsentHash(0)}}
	views := map[string]record.View{}
	for _, line := range lines {
		words := strings.Fields(line)
		var name string
		var v record.View
		switch words[0] {
		case "blob:":
			name, v = words[1], sweeptest.MakeBlob(words[1])
		case "seal:":
			name, v = words[1], sweeptest.MakeSeal(views[words[2]], 1)
		case "contained:": // the Blob inside of a Plex, held by itself
			name, v = words[1], sweeptest.MakeBlob("data of "+words[2])
		default:
			name = words[0]
			v = sweeptest.MakePlex(name, r.headers(t, words[1:])...)
		}
		views[name] = v
		r.hashes[name] = r.Add(v)
		r.names = append(r.names, name)
	}
	return r
}

func (r *root) headers(t testing.TB, words []string) []record.Header {
	var headers []record.Header
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			t.Fatalf("header %q", w)
		}
		if data, target, linked := strings.Cut(value, "@"); linked {
			value = strings.ReplaceAll(data, "+", " ") + r.hashes[target]
		}
		headers = append(headers, record.Header{Name: name, Value: value})
	}
	return headers
}

// store returns a store that holds the root.
func (r *root) store(t testing.TB) *memory.Store {
	t.Helper()
	s := memory.New()
	admit(t, s, r.Records)
	return s
}

func admit(t testing.TB, b store.Backend, records [][]byte) {
	t.Helper()
	var op store.StoreRecords
	for _, rec := range records {
		h, err := record.ParseGlyphLine(rec)
		if err != nil {
			t.Fatal(err)
		}
		op.Records = append(op.Records, store.NewRecord{Hash: h, Len: uint64(len(rec)), Body: bytes.NewReader(rec)})
	}
	if _, err := b.Execute(op); err != nil {
		t.Fatal(err)
	}
}

// prepare prepares policies in whose text @x is the hash of record x.
func (r *root) prepare(t testing.TB, texts ...string) *policy.Prepared {
	t.Helper()
	var sources []policy.Source
	for i, text := range texts {
		for name, hash := range r.hashes {
			text = strings.ReplaceAll(text, "'@"+name+"'", "'"+hash+"'")
		}
		sources = append(sources, policy.Source{Name: fmt.Sprintf("p%d.lace", i+1), Text: []byte(text)})
	}
	p, err := policy.Prepare(sources, map[string]string{"cutoff": "m", "who": r.hashes["absent"]})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// limits are what no result may depend on.
func limits() []sweep.Options {
	var all []sweep.Options
	for _, window := range []uint64{0, 1, 2, 3, 7} {
		all = append(all,
			sweep.Options{WindowRecords: window, WorkPerRecord: 1 << 30},
			sweep.Options{WindowRecords: window, PageRows: 1, BlockBindings: 2, DistinctQueries: 1, WorkPerRecord: 1 << 30})
	}
	return all
}

// keeps checks what policies keep, by name, under all limits.
func (r *root) keeps(t *testing.T, want string, texts ...string) {
	t.Helper()
	p := r.prepare(t, texts...)
	for _, o := range limits() {
		result, err := sweep.Run(context.Background(), r.store(t), p, o)
		if err != nil {
			t.Errorf("window %d: %v", o.WindowRecords, err)
			continue
		}
		var got []string
		for id := range result.Kept.IDs() {
			got = append(got, r.names[id-1])
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("window %d page %d: kept %q, want %q", o.WindowRecords, o.PageRows, text, want)
		}
	}
}
