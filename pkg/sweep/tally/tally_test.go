package tally_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/fact"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/memory"
	"github.com/lace-store/lace/pkg/store/storetest"
	"github.com/lace-store/lace/pkg/sweep/tally"
)

// root admits records and returns their store.
func root(t rapid.TB, records []storetest.Record) store.Backend {
	t.Helper()
	b := memory.New()
	op := store.StoreRecords{}
	for _, r := range records {
		op.Records = append(op.Records, r.New())
	}
	if _, err := b.Execute(op); err != nil {
		t.Fatal(err)
	}
	return b
}

// topic is a record of several topics, with its own oracle of what it has.
type topic struct {
	values []string
	size   int // of the data, which is "data of " and the name
	storetest.Record
}

func topics(t *rapid.T, n int) []topic {
	var all []topic
	for i := range n {
		name := fmt.Sprintf("%d-%s", i, strings.Repeat("x", rapid.IntRange(0, 30).Draw(t, "size")))
		r := topic{values: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "(none)", "(other)", "\u202e"}), 0, 4).Draw(t, "values"), size: len("data of ") + len(name)}
		slices.Sort(r.values)
		headers := []storetest.Header{}
		for _, v := range r.values {
			headers = append(headers, storetest.Header{Name: "Topic", Value: v})
		}
		r.Record = storetest.Plex(name, headers...)
		all = append(all, r)
	}
	return all
}

func draw(t *rapid.T, label string, n int) *kept.Set {
	set := kept.New(store.Position(n))
	for i := range n {
		if rapid.Bool().Draw(t, label) {
			set.Add(store.RecordID(i + 1))
		}
	}
	return set
}

// total adds up the records that which chooses, one by one.
func total(all []topic, which func(id store.RecordID, r topic) bool) tally.Total {
	var sum tally.Total
	for i, r := range all {
		if which(store.RecordID(i+1), r) {
			sum.Records++
			sum.Bytes += uint64(len(r.Bytes))
			sum.DataBytes += uint64(r.size)
		}
	}
	return sum
}

func split(all []topic, set *kept.Set, which func(r topic) bool) tally.Split {
	return tally.Split{
		Retained: total(all, func(id store.RecordID, r topic) bool { return set.Has(id) && which(r) }),
		Removed:  total(all, func(id store.RecordID, r topic) bool { return !set.Has(id) && which(r) }),
	}
}

// Every figure is what counting for it alone gives.
func TestCountAgreesWithCountingEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := topics(t, rapid.IntRange(0, 12).Draw(t, "records"))
		var records []storetest.Record
		for _, r := range all {
			records = append(records, r.Record)
		}
		b, set := root(t, records), draw(t, "kept", len(all))
		modules := []*kept.Set{draw(t, "first", len(all)), draw(t, "second", len(all)), draw(t, "third", len(all))}
		most, tracked := rapid.IntRange(1, 5).Draw(t, "most"), rapid.IntRange(1, 5).Draw(t, "tracked")
		report, err := tally.Count(b, set, tally.Options{Modules: modules, Fields: []string{fact.TypeField, "Topic"}, MaxValues: most, TrackedValues: tracked})
		if err != nil {
			t.Fatal(err)
		}
		everything := split(all, set, func(topic) bool { return true })
		if report.All != everything {
			t.Fatalf("in all %+v, want %+v", report.All, everything)
		}
		checkModules(t, report, all, modules)
		types := report.Groups[0]
		if len(all) > 0 && (len(types.Values) != 1 || types.Values[0] != tally.Value{Value: "P", Split: everything}) || types.None != (tally.Split{}) {
			t.Fatalf("types %+v, want all in P", types)
		}
		checkTopics(t, report.Groups[1], all, set, most, tracked)
	})
}

func checkModules(t *rapid.T, report *tally.Report, all []topic, modules []*kept.Set) {
	for i, m := range modules {
		want := tally.Module{
			Retained: total(all, func(id store.RecordID, _ topic) bool { return m.Has(id) }),
			Only: total(all, func(id store.RecordID, _ topic) bool {
				for j, other := range modules {
					if other.Has(id) != (i == j) {
						return false
					}
				}
				return true
			}),
		}
		if report.Modules[i] != want {
			t.Fatalf("policy %d: %+v, want %+v", i, report.Modules[i], want)
		}
	}
}

func checkTopics(t *rapid.T, got tally.Group, all []topic, set *kept.Set, most, tracked int) {
	var seen []string // in the order of records; values of one are sorted
	for _, r := range all {
		for _, v := range r.values {
			if !slices.Contains(seen, v) {
				seen = append(seen, v)
			}
		}
	}
	want := tally.Group{Field: "Topic", None: split(all, set, func(r topic) bool { return len(r.values) == 0 })}
	var told []tally.Value
	add := func(s *tally.Total, u tally.Total) {
		s.Records, s.Bytes, s.DataBytes = s.Records+u.Records, s.Bytes+u.Bytes, s.DataBytes+u.DataBytes
	}
	for i, v := range seen {
		of := split(all, set, func(r topic) bool { return slices.Contains(r.values, v) })
		if i < tracked {
			told = append(told, tally.Value{Value: v, Split: of})
			continue
		}
		want.Other.More = true
		add(&want.Other.Retained, of.Retained)
		add(&want.Other.Removed, of.Removed)
	}
	slices.SortFunc(told, func(a, b tally.Value) int {
		if n := int(b.Retained.Bytes+b.Removed.Bytes) - int(a.Retained.Bytes+a.Removed.Bytes); n != 0 {
			return n
		}
		return strings.Compare(a.Value, b.Value)
	})
	for i, v := range told {
		if i < most {
			want.Values = append(want.Values, v)
			continue
		}
		want.Other.Values++
		add(&want.Other.Retained, v.Retained)
		add(&want.Other.Removed, v.Removed)
	}
	if len(got.Values) == 0 {
		got.Values = nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("topics\n%+v, want\n%+v", got, want)
	}
}

// A record that is met on a later page counts as one on the first.
func TestCountPages(t *testing.T) {
	var records []storetest.Record
	for i := range 600 {
		records = append(records, storetest.Plex(fmt.Sprint(i), storetest.Header{Name: "Third", Value: fmt.Sprint(i % 3)}))
	}
	b, set := root(t, records), kept.New(600)
	set.Add(600)
	report, err := tally.Count(b, set, tally.Options{Fields: []string{"Third"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := report.All.Removed.Records; got != 599 || report.All.Retained.Records != 1 {
		t.Errorf("%d removed, %d retained, want 599 and 1", got, report.All.Retained.Records)
	}
	for _, v := range report.Groups[0].Values {
		if got := v.Retained.Records + v.Removed.Records; got != 200 {
			t.Errorf("value %s has %d records, want 200", v.Value, got)
		}
	}
	stop := errors.New("stop")
	pages := 0
	_, err = tally.Count(b, set, tally.Options{Step: func(store.Position) error {
		if pages++; pages == 2 {
			return stop
		}
		return nil
	}})
	if err != stop {
		t.Errorf("the pass went on after a stop: %v", err)
	}
}

// Long values are told apart only up to a bound of their bytes.
func TestTextsAreBounded(t *testing.T) {
	const length = 900
	var records []storetest.Record
	for i := range 16<<20/length + 2 {
		records = append(records, storetest.Plex("n", storetest.Header{Name: "Long", Value: fmt.Sprintf("%0*d", length, i)}))
	}
	b, set := root(t, records), kept.New(store.Position(len(records)))
	report, err := tally.Count(b, set, tally.Options{Fields: []string{"Long"}})
	if err != nil {
		t.Fatal(err)
	}
	got := report.Groups[0]
	if len(got.Values) != tally.MaxValues || !got.Other.More || got.Other.Values != 16<<20/length-tally.MaxValues {
		t.Errorf("%d values, others %+v", len(got.Values), got.Other)
	}
	if sum := got.Other.Removed.Records + uint64(len(got.Values)); sum != uint64(len(records)) {
		t.Errorf("%d records in all, want %d", sum, len(records))
	}
}

// tampered answers with the bytes of no record.
type tampered struct{ store.Backend }

func (b tampered) Execute(op store.Op) (store.Result, error) {
	result, err := b.Backend.Execute(op)
	if loaded, ok := result.(store.LoadedResult); ok {
		loaded.Records[0].Bytes = []byte("no record")
	}
	return result, err
}

func TestCountOfDamage(t *testing.T) {
	b := root(t, []storetest.Record{storetest.Blob("x")})
	if _, err := tally.Count(tampered{b}, kept.New(1), tally.Options{}); !errors.Is(err, store.CorruptStore) {
		t.Errorf("damage: %v", err)
	}
	if _, err := tally.Count(b, kept.New(2), tally.Options{}); !errors.Is(err, store.Integration) {
		t.Errorf("a record beyond the root: %v", err)
	}
}
