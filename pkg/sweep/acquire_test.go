package sweep_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

// logged sweeps with a store that remembers what it was asked.
func (r *root) logged(t *testing.T, policy string, o sweep.Options) (l *logging, kept []string) {
	t.Helper()
	l = &logging{Backend: r.store(t)}
	result, err := sweep.Run(context.Background(), l, r.prepare(t, policy), o)
	if err != nil {
		t.Fatal(err)
	}
	for id := range result.Kept.IDs() {
		kept = append(kept, r.names[id-1])
	}
	return l, kept
}

// TestStandardSizes: pages, blocks and distinct searches are cut where the
// standard options say, and not one earlier or later.
func TestStandardSizes(t *testing.T) {
	var lines []string
	for i := range 1025 {
		lines = append(lines, fmt.Sprintf("r%d Key=k%d Ref=%s", i, i, sweeptest.AbsentHash(i)))
	}
	r := makeRoot(t, lines...)
	t.Run("pages of 256, each after the last row of the one before", func(t *testing.T) {
		l, _ := r.logged(t, `SelectStoredRecord(R) :- true.`, sweep.Options{})
		var after []store.RecordID
		for _, op := range l.ops {
			if find, ok := op.(store.FindRecords); ok {
				if find.MaxRows != 256 || find.UpperInclusive != 1025 {
					t.Errorf("%+v", find)
				}
				after = append(after, find.ResumeAfter)
			}
		}
		if !slices.Equal(after, []store.RecordID{0, 256, 512, 768, 1024}) {
			t.Errorf("pages after %v", after)
		}
	})
	t.Run("blocks of 1,024, each resolved at once", func(t *testing.T) {
		l, _ := r.logged(t, `SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), not Have(T).`, sweep.Options{})
		var sizes []int
		for _, op := range l.ops {
			if resolve, ok := op.(store.ResolveStoreRecordIDs); ok {
				sizes = append(sizes, len(resolve.Hashes))
			}
		}
		if !slices.Equal(sizes, []int{1024, 1}) {
			t.Errorf("resolved %v", sizes)
		}
	})
	for wanted, searches := range map[int]int{64: 64, 65: 0} {
		t.Run(fmt.Sprintf("a block of %d different searches", wanted), func(t *testing.T) {
			policy := ""
			for i := range wanted {
				policy += fmt.Sprintf("key(k) :- Compare(k,'=','k%d'). ", i)
			}
			l, kept := r.logged(t, policy+`SelectStoredRecord(R) :- key(k), Field(R,'Key',_,k).`, sweep.Options{})
			exact := 0
			for _, search := range l.searches() {
				if strings.HasPrefix(search, "(0,1025] exact Key k") {
					exact++
				}
			}
			if all := l.times("(0,1025] presence Key"); exact != searches || (all == 1) != (searches == 0) || len(kept) != wanted {
				t.Errorf("%d searches by value, %d by name, %d kept", exact, all, len(kept))
			}
		})
	}
}

// TestNegatedAtomsInBatches asserts how negated atoms are acquired: in the
// record that another atom reads, by one load of a block, by the distinct
// searches of a block, or by one search for all.
func TestNegatedAtomsInBatches(t *testing.T) {
	var lines []string
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("r%d Key=k%d Twin=k%d", i, i%6, i%4))
	}
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("s%d Ref=@r%d", i, i))
	}
	r := makeRoot(t, lines...)
	const (
		byLink  = `SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), not Field(T,'Twin',_,'k3').`
		byValue = `SelectStoredRecord(R) :- Field(R,'Key',_,k), not Field(_,'Twin',_,k).`
	)
	for name, c := range map[string]struct {
		policy          string
		o               sweep.Options
		kept            int
		loads, resolves int
		times           map[string]int // of searches
	}{
		"inside of the record": {`SelectStoredRecord(R) :- Field(R,'Key',_,_), not Field(R,'Twin',_,'k3').`, sweep.Options{}, 9, 0, 0,
			map[string]int{"(0,24] presence Key": 1, "(0,24] exact Twin k3": 0}},
		"a block is resolved and loaded once":    {byLink, sweep.Options{}, 9, 1, 1, map[string]int{"(0,24] link Ref": 1}},
		"each block is resolved and loaded once": {byLink, sweep.Options{BlockBindings: 5}, 9, 3, 3, map[string]int{"(0,24] link Ref": 1}},
		"distinct searches of a block":           {byValue, sweep.Options{}, 4, 0, 0, map[string]int{"(0,24] exact Twin k0": 1, "(0,24] exact Twin k5": 1, "(0,24] presence Twin": 0}},
		"too many searches are one":              {byValue, sweep.Options{DistinctQueries: 5}, 4, 0, 0, map[string]int{"(0,24] exact Twin k0": 0, "(0,24] presence Twin": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			l, kept := r.logged(t, c.policy, c.o)
			if _, loads, resolves := l.asked(); len(kept) != c.kept || loads != c.loads || resolves != c.resolves {
				t.Errorf("%d kept, %d loads, %d resolutions", len(kept), loads, resolves)
			}
			for search, want := range c.times {
				if got := l.times(search); got != want {
					t.Errorf("%s: %d times, want %d, among\n%s", search, got, want, strings.Join(l.searches(), "\n"))
				}
			}
		})
	}
}

// TestRecursionIsSemiNaive: a recursive rule joins what is new alone, so that
// each record on the way is loaded once, and work grows with the way.
func TestRecursionIsSemiNaive(t *testing.T) {
	const policy = `reach(R) :- Field(R,'Pin',_,_). reach(T) :- reach(R), RecordLink(R,'Ref',_,_,T).
		SelectStoredRecord(R) :- reach(R).`
	work := map[int]uint64{}
	for _, n := range []int{20, 40} {
		lines := []string{"r0"}
		for i := 1; i < n; i++ {
			lines = append(lines, fmt.Sprintf("r%d Ref=@r%d", i, i-1))
		}
		lines[n-1] += " Pin=1"
		r := makeRoot(t, lines...)
		l := &logging{Backend: r.store(t)}
		result, err := sweep.Run(context.Background(), l, r.prepare(t, policy), sweep.Options{})
		if err != nil || result.Kept.Count() != uint64(n) {
			t.Fatalf("%v, %v", result, err)
		}
		times := map[store.RecordID]int{}
		for _, op := range l.ops {
			if load, ok := op.(store.LoadRecordsByStoreID); ok {
				for _, ref := range load.Refs {
					times[ref.ID]++
				}
			}
		}
		for id, n := range times {
			if n != 1 {
				t.Errorf("record #%d is loaded %d times", id, n)
			}
		}
		work[n] = result.Report.Modules[0].Shared.Work
	}
	if work[40] > 2*work[20]+8 {
		t.Errorf("work %d for 20 records and %d for 40", work[20], work[40])
	}
}

// TestMissingIsAskedOnce: a hash that is not held is resolved once, however
// many blocks meet it.
func TestMissingIsAskedOnce(t *testing.T) {
	var lines []string
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("r%d Ref=@absent", i))
	}
	r := makeRoot(t, lines...)
	l, kept := r.logged(t, `SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), not Field(T,'Topic',_,_).`, sweep.Options{BlockBindings: 2})
	if _, loads, resolves := l.asked(); len(kept) != 12 || loads != 0 || resolves != 1 {
		t.Errorf("%d kept, %d loads, %d resolutions", len(kept), loads, resolves)
	}
}
