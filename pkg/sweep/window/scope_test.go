package window_test

import (
	"slices"
	"testing"

	"github.com/lace-store/lace/pkg/sweep/window"
)

// TestWhole: what is reached only by calls that pass the selected record is
// windowed, everything else is derived over the whole root.
func TestWhole(t *testing.T) {
	p := prepare(t, `
		windowed(R) :- Field(R,'Page',_,_), below(R).
		below(R) :- Field(R,'Keep',_,_).
		negated(R) :- Field(R,'Drop',_,_).
		counted(R,x) :- Field(R,'Like',_,x).
		ranked(R,t) :- Field(R,'Topic',_,t).
		reach(T) :- reach(R), RecordLink(R,_,_,_,T).
		reach(R) :- Field(R,'Pin',_,_).
		both(R) :- Have(R).
		SelectStoredRecord(R) :- windowed(R), not negated(R), both(R), not both(R).
		SelectStoredRecord(R) :- Have(R), Cardinality(counted(R,_),'>','2').
		SelectStoredRecord(R) :- TopK(ranked(R,t),PartitionBy(t),t,'asc','2').
		SelectStoredRecord(R) :- reach(R).`)
	var names []string
	for id, whole := range window.Whole(p) {
		if whole {
			names = append(names, p.Predicates[id].Name)
		}
	}
	slices.Sort(names)
	if want := []string{"both", "counted", "negated", "ranked", "reach"}; !slices.Equal(names, want) {
		t.Errorf("derived over the whole root: %v, want %v", names, want)
	}
}
