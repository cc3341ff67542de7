package sweep_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/eval"
)

// limitError runs a sweep that must reach a limit.
func limitError(t *testing.T, r *root, policy string, o sweep.Options) *eval.LimitError {
	t.Helper()
	_, err := sweep.Run(context.Background(), r.store(t), r.prepare(t, policy), o)
	var limit *eval.LimitError
	if !errors.As(err, &limit) || !errors.Is(err, store.LimitExceeded) {
		t.Fatalf("got %v, want a limit error", err)
	}
	return limit
}

// TestRowCap: the cap counts tuples of derived relations, the output and the
// clones of one window among them, and no facts.
func TestRowCap(t *testing.T) {
	r := makeRoot(t, "a Topic=x", "b Topic=x", "c Topic=x", "d Topic=x", "e Topic=y", "f Topic=y")
	const helper = `m(R,t) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- Have(R), not m(R,_).`
	limit := limitError(t, r, helper, sweep.Options{MaxRelationRows: 5})
	if limit.Limit != eval.RelationRows || limit.Relation != "m" || limit.Used != 6 || limit.Allowed != 5 || limit.Upper != 6 {
		t.Errorf("%+v", limit)
	}
	if limit.Module != "p1.lace" || limit.Where != "p1.lace:1:1" || !strings.Contains(limit.Rule, "m(R,t)") {
		t.Errorf("%+v", limit)
	}
	if !strings.Contains(limit.Hint, "--max-relation-rows") {
		t.Errorf("the hint does not say what to do: %s", limit.Hint)
	}
	for name, c := range map[string]struct {
		policy string
		o      sweep.Options
		ok     bool
	}{
		"helper at the cap":              {helper, sweep.Options{MaxRelationRows: 6}, true},
		"a window does not lift the cap": {helper, sweep.Options{MaxRelationRows: 5, WindowRecords: 2}, false},
		"a clone in small windows":       {`m(R,t) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- m(R,_).`, sweep.Options{MaxRelationRows: 3, WindowRecords: 3}, true},
		"a clone in a large window":      {`m(R,t) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- m(R,_).`, sweep.Options{MaxRelationRows: 3, WindowRecords: 4}, false},
		"the output in small windows":    {`SelectStoredRecord(R) :- true.`, sweep.Options{MaxRelationRows: 2, WindowRecords: 2}, true},
		"the output in a large window":   {`SelectStoredRecord(R) :- true.`, sweep.Options{MaxRelationRows: 2, WindowRecords: 3}, false},
		"facts do not count":             {`SelectStoredRecord(R) :- Field(R,'Topic',_,t), Field(S,'Topic',_,t), Field(S,'Name',_,'e').`, sweep.Options{MaxRelationRows: 2, WindowRecords: 1}, true},
		"winners of facts do":            {`SelectStoredRecord(R) :- TopK(Field(R,'Topic',_,t),PartitionBy(R),t,'asc','1').`, sweep.Options{MaxRelationRows: 5, WindowRecords: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sweep.Run(context.Background(), r.store(t), r.prepare(t, c.policy), c.o)
			if (err == nil) != c.ok || err != nil && !errors.Is(err, store.LimitExceeded) {
				t.Errorf("got %v, want success %t", err, c.ok)
			}
		})
	}
}

// TestWorkBudget: a helper whose work outgrows a tiny root fails, by name.
func TestWorkBudget(t *testing.T) {
	r := makeRoot(t, "a Topic=x", "b Topic=x", "c Topic=x", "d Topic=x", "e Topic=x")
	const pairs = `pair(R,S) :- Field(R,'Topic',_,t), Field(S,'Topic',_,t). SelectStoredRecord(R) :- Have(R), not pair(R,R).`
	limit := limitError(t, r, pairs, sweep.Options{WorkPerRecord: 4})
	if limit.Limit != eval.Work || limit.Relation != "pair" || limit.Allowed != 20 || limit.Used != 21 || !strings.Contains(limit.Rule, "pair(R,S)") {
		t.Errorf("%+v", limit)
	}
	// The budget is that of one window: it grows with the root, not with the
	// number of windows, and is spent anew in each.
	policy := r.prepare(t, `SelectStoredRecord(R) :- Field(R,'Topic',_,'x').`)
	result, err := sweep.Run(context.Background(), r.store(t), policy, sweep.Options{WorkPerRecord: 1, WindowRecords: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range result.Report.Modules[0].Windows {
		if w.Work == 0 || w.RecordsRead != 1 || w.Rows["SelectStoredRecord"] != 1 {
			t.Errorf("%+v", w)
		}
	}
	if got := result.Report.Modules[0].WorkAllowed; got != 5 {
		t.Errorf("allowed %d", got)
	}
	if _, err := sweep.Run(context.Background(), r.store(t), policy, sweep.Options{WorkPerRecord: 1}); !errors.Is(err, store.LimitExceeded) {
		t.Errorf("one window of five records within a budget of 5: %v", err)
	}
}

// TestDefaults: the zero value means the seeds' constants.
func TestDefaults(t *testing.T) {
	r := makeRoot(t, "a")
	result, err := sweep.Run(context.Background(), r.store(t), r.prepare(t, `SelectStoredRecord(R) :- true.`), sweep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := result.Report.Options
	if o.WindowRecords != 1<<20 || o.MaxRelationRows != 1<<20 || o.WorkPerRecord != 2048 || o.PageRows != 256 || o.BlockBindings != 1024 || o.DistinctQueries != 64 || o.Jobs != 1 {
		t.Errorf("%+v", o)
	}
	for _, bad := range []sweep.Options{{PageRows: -1}, {BlockBindings: 1 << 30}, {DistinctQueries: -5}, {Jobs: -1}, {MaxRelationRows: 1 << 40}} {
		if _, err := sweep.New(nil, bad); !errors.Is(err, store.Integration) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
