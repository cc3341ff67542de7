package sweep_test

import (
	"context"
	"testing"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/eval"
	"github.com/lace-store/lace/pkg/sweep/specialize"
)

// TestConstantsSaveRows counts what helpers derive for the constants of their
// calls, against what they derive for every value.
func TestConstantsSaveRows(t *testing.T) {
	r := makeRoot(t, "a Topic=lobby", "b Topic=hall", "c Topic=lobby Ref=@a", "d Topic=attic Ref=@b", "e Topic=hall Ref=@d", "f Topic=attic Ref=@c")
	const topic = `m(R,t) :- Field(R,'Topic',_,t). `
	for name, c := range map[string]struct {
		policy      string
		helper      string
		every, rows uint64
	}{
		"called":  {topic + `SelectStoredRecord(R) :- m(R,'lobby').`, "m", 6, 2},
		"twice":   {topic + `SelectStoredRecord(R) :- m(R,'lobby'). SelectStoredRecord(R) :- m(R,'hall').`, "m", 6, 4},
		"negated": {topic + `SelectStoredRecord(R) :- Have(R), not m(R,'lobby').`, "m", 6, 2},
		"counted": {topic + `SelectStoredRecord(R) :- Have(R), Cardinality(m(_,'lobby'),'=','2').`, "m", 6, 2},
		"ranked":  {topic + `SelectStoredRecord(R) :- TopK(m(R,'lobby'),PartitionBy(),AdmitOrder(R),'desc','1').`, "m", 6, 2},
		"nested":  {topic + `n(R,t) :- m(R,t), not m(R,'hall'). SelectStoredRecord(R) :- Have(R), not n(R,'lobby').`, "n", 4, 2},
		"recursive": {`reach(R,t) :- Field(R,'Topic',_,t), not RecordLink(R,_,_,_,_). reach(T,t) :- reach(R,t), RecordLink(T,_,_,_,R).
			SelectStoredRecord(R) :- Have(R), not reach(R,'lobby').`, "reach", 6, 3},
		"needed for every value too": {topic + `SelectStoredRecord(R) :- Have(R), not m(R,'lobby'), m(R,_).`, "m", 6, 6},
	} {
		t.Run(name, func(t *testing.T) {
			p := r.prepare(t, c.policy).Modules[0].Program
			if got := rowsOf(t, r, p, c.helper); got != c.every {
				t.Errorf("%d rows for every value, want %d", got, c.every)
			}
			if got := rowsOf(t, r, specialize.Rewrite(p), c.helper); got != c.rows {
				t.Errorf("%d rows, want %d", got, c.rows)
			}
			result, err := sweep.Run(context.Background(), r.store(t), r.prepare(t, c.policy), sweep.Options{})
			if err != nil {
				t.Fatal(err)
			}
			report := result.Report.Modules[0]
			if got := report.Shared.Rows[c.helper] + report.Windows[0].Rows[c.helper]; got != c.rows {
				t.Errorf("%d rows in the report of a sweep, want %d", got, c.rows)
			}
		})
	}
}

// rowsOf evaluates a program as it is and returns the rows of a helper.
func rowsOf(t *testing.T, r *root, p *program.Program, helper string) uint64 {
	t.Helper()
	o := eval.Options{Boundary: 6, PageRows: 256, BlockBindings: 1024, DistinctQueries: 64, RelationRows: 100, Work: 10_000}
	e := eval.New(r.store(t), p.File, o)
	shared, err := e.Share(p)
	if err != nil {
		t.Fatal(err)
	}
	return shared.Rows[helper]
}

// TestLimitOfVariant: a limit names the helper of the module, whatever
// evaluates it: a variant for a constant, a clone for a window, or both.
func TestLimitOfVariant(t *testing.T) {
	r := makeRoot(t, "a Topic=x", "b Topic=x", "c Topic=x", "d Topic=x", "e Topic=y", "f Topic=y")
	for name, policy := range map[string]string{
		"variant":         `m(R,t) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- Have(R), not m(R,'x').`,
		"variant, cloned": `m(R,t) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- m(R,'x').`,
		"clone":           `m(R,t) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- m(R,_).`,
	} {
		limit := limitError(t, r, policy, sweep.Options{MaxRelationRows: 3, WindowRecords: 4})
		if limit.Limit != eval.RelationRows || limit.Relation != "m" || limit.Used != 4 || limit.Rule != `m(R,t) :- Field(R,'Topic',_,t).` {
			t.Errorf("%s: %+v", name, limit)
		}
		work := limitError(t, r, policy, sweep.Options{WorkPerRecord: 1, WindowRecords: 3})
		if work.Limit != eval.Work || work.Relation != "m" && work.Relation != program.SelectFacet {
			t.Errorf("%s: %+v", name, work)
		}
	}
}
