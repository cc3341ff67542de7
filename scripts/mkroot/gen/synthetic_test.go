package gen

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store/fact"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/record/mark"
)

// all returns every record of a source as owned bytes.
func all(t testing.TB, s Source) (records [][]byte) {
	t.Helper()
	for {
		v, err := s.Next(nil)
		if err == io.EOF {
			return records
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, v.Bytes())
	}
}

func synthetic(t testing.TB, opts SyntheticOptions) *Synthetic {
	t.Helper()
	s, err := NewSynthetic(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fields returns the fields of a record by name; the last of a name wins.
func fields(t testing.TB, rec []byte) (byName map[string]string, links []string) {
	t.Helper()
	facts, err := fact.Collect(rec)
	if err != nil {
		t.Fatal(err)
	}
	byName = make(map[string]string)
	for _, f := range facts {
		switch f.Predicate {
		case fact.Field:
			byName[f.Name] = f.Value
		case fact.RecordLink:
			links = append(links, f.Target)
		}
	}
	return byName, links
}

func TestSynthetic(t *testing.T) {
	const n = 8_000
	opts := SyntheticOptions{Records: n, MinSize: 10, MaxSize: 90, Seed: 1, Links: 0.2, Seals: 0.01}
	count := map[string]int{}
	var linked, sealed, least, most = 0, 0, math.MaxInt, 0
	seen := map[string]bool{}
	for i, rec := range all(t, synthetic(t, opts)) {
		v, err := record.ParseStrict(rec)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if v.Kind() == record.Seal {
			sealed++
			if err := mark.VerifySeal(v); err != nil {
				t.Errorf("record %d: %v", i, err)
			}
		}
		f, links := fields(t, rec)
		for _, target := range links {
			linked++
			if !seen[target] {
				t.Errorf("record %d links to %s, which is not earlier", i, target)
			}
		}
		for _, name := range []string{"Half", "Lot", "Epoch", "Pin", "Topic"} {
			count[name+" "+f[name]]++
		}
		seen[v.Hash().String()] = true
		least, most = min(least, len(v.Data())), max(most, len(v.Data()))
	}
	if len(seen) != n {
		t.Errorf("%d distinct records, want %d", len(seen), n)
	}
	for _, key := range []string{"Lot 00", "Lot 99", "Epoch 00", "Epoch 57", "Epoch 99"} {
		if count[key] != n/100 {
			t.Errorf("%s on %d records, want %d", key, count[key], n/100)
		}
	}
	if count["Half a"] != n/2 || count["Half b"] != n/2 {
		t.Errorf("halves of %d and %d", count["Half a"], count["Half b"])
	}
	between := func(what string, got, lo, hi int) {
		if got < lo || got > hi {
			t.Errorf("%s: %d, want %d to %d", what, got, lo, hi)
		}
	}
	between("pinned", count["Pin 1"], n/200, n/50)
	between("linked", linked, n/6, n/4)
	between("sealed", sealed, n/200, n/50)
	between("topics", len(slices.Collect(topicsOf(count))), topics, topics)
	between("least size", least, 10, 10)
	between("greatest size", most, 90, 90)
}

// TestSyntheticWithoutTopics: the share without a topic is as asked.
func TestSyntheticWithoutTopics(t *testing.T) {
	const n = 4_000
	without := 0
	for _, rec := range all(t, synthetic(t, SyntheticOptions{Records: n, MaxSize: 20, Seed: 1, NoTopic: 0.8})) {
		if f, _ := fields(t, rec); f["Topic"] == "" {
			without++
		}
	}
	if without < n*7/10 || without > n*9/10 {
		t.Errorf("%d of %d records have no topic, want 80%%", without, n)
	}
}

func topicsOf(count map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range count {
			if strings.HasPrefix(key, "Topic ") && !yield(key) {
				return
			}
		}
	}
}

// TestSyntheticIsDeterministic pins the last record of a seed, so that
// benchmarks of different days measure the same root.
func TestSyntheticIsDeterministic(t *testing.T) {
	opts := SyntheticOptions{Records: 500, MinSize: 100, MaxSize: 300, Seed: 7, Links: 0.5, Seals: 0.1}
	one, two := all(t, synthetic(t, opts)), all(t, synthetic(t, opts))
	if !slices.EqualFunc(one, two, bytes.Equal) {
		t.Error("two runs differ")
	}
	v, err := record.Parse(one[499])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := v.Hash().String(), "P.TEYhxLFmkgYemLN~hqnImhkUuua0JYS1mhNzKsGbY84.H3"; got != want {
		t.Errorf("the last record is %s, want %s", got, want)
	}
	opts.Seed = 8
	if slices.EqualFunc(one, all(t, synthetic(t, opts)), bytes.Equal) {
		t.Error("two seeds make the same records")
	}
}

// TestReusedBuffer: building into one buffer gives the same records.
func TestReusedBuffer(t *testing.T) {
	opts := SyntheticOptions{Records: 300, MaxSize: 2000, Seed: 3, Links: 0.5, Seals: 0.1}
	want := all(t, synthetic(t, opts))
	s := synthetic(t, opts)
	var buf []byte
	for i := range want {
		v, err := s.Next(buf)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(v.Bytes(), want[i]) {
			t.Fatalf("record %d differs", i)
		}
		buf = v.Bytes()
	}
}

func TestSyntheticRefuses(t *testing.T) {
	for _, opts := range []SyntheticOptions{
		{MinSize: -1}, {MinSize: 2, MaxSize: 1}, {MaxSize: record.MaxDataLen + 1},
		{Links: 1.5}, {Links: -0.5}, {Seals: math.NaN()}, {NoTopic: 2},
	} {
		if _, err := NewSynthetic(opts); err == nil {
			t.Errorf("%+v: no error", opts)
		}
	}
}

func BenchmarkSynthetic(b *testing.B) {
	s := synthetic(b, SyntheticOptions{Records: math.MaxInt64, MinSize: 1024, MaxSize: 1024, Links: 0.2})
	b.SetBytes(1024)
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		v, err := s.Next(buf)
		if err != nil {
			b.Fatal(err)
		}
		buf = v.Bytes()
	}
}
