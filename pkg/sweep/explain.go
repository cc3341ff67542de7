package sweep

import (
	"context"
	"fmt"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep/explain"
)

// Explain says why a sweep of the policies decided about some records as it
// did: r is its result. It evaluates again, over the same store and boundary
// and under the same limits, and fails when it comes to another decision. It
// stops before the next store operation once ctx is done, with a
// store.Interrupted error. Other errors are those of the store and
// *eval.LimitError.
func (r *Result) Explain(ctx context.Context, b store.Backend, prepared *policy.Prepared, ids []store.RecordID) ([]explain.Record, error) {
	return r.ExplainPrograms(ctx, b, programs(prepared), ids)
}

// ExplainPrograms is Explain over programs.
func (r *Result) ExplainPrograms(ctx context.Context, b store.Backend, modules []*program.Program, ids []store.RecordID) ([]explain.Record, error) {
	for _, id := range ids {
		if id == 0 || store.Position(id) > r.Report.Boundary {
			return nil, &store.Error{Kind: store.Integration, Doing: "explain", ID: id, Want: fmt.Sprintf("1 to %d", r.Report.Boundary)}
		}
	}
	records, err := explain.Records(interruptible{ctx, b}, modules, ids, r.Report.Options.eval(r.Report.Boundary))
	if err != nil {
		return nil, err
	}
	for _, rec := range records {
		for i, m := range rec.Modules {
			if m.Selected != r.Report.Modules[i].Kept.Has(rec.ID) {
				return nil, &store.Error{Kind: store.Integration, Doing: "explain", ID: rec.ID, Where: m.File,
					Found: fmt.Sprintf("selected: %t, the sweep decided otherwise", m.Selected)}
			}
		}
	}
	return records, nil
}

// interruptible is a store that is asked no more once its context is done.
type interruptible struct {
	ctx context.Context
	b   store.Backend
}

// Execute implements eval.Store.
func (s interruptible) Execute(op store.Op) (store.Result, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, &store.Error{Kind: store.Interrupted, Doing: "explain", Found: "stopped on request; nothing was changed", Err: err, Hint: "run it again"}
	}
	return s.b.Execute(op)
}
