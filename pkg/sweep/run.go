package sweep

import (
	"context"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
)

// Run sweeps the root of a store under prepared policies. It stops before the
// next store operation once ctx is done, with a store.Interrupted error. Other
// errors are those of New, of the store, and *eval.LimitError. When it returns
// no record that the store answered with is alive.
func Run(ctx context.Context, b store.Backend, prepared *policy.Prepared, o Options) (*Result, error) {
	modules := make([]*program.Program, len(prepared.Modules))
	for i, m := range prepared.Modules {
		modules[i] = m.Program
	}
	return RunPrograms(ctx, b, modules, o)
}

// RunPrograms is Run over programs.
func RunPrograms(ctx context.Context, b store.Backend, modules []*program.Program, o Options) (*Result, error) {
	s, err := New(modules, o)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	if prepares, ok := b.(expecter); ok {
		prepares.Expect(s.Queries()...)
	}
	for {
		op, ok := s.Next()
		if !ok {
			return s.Result()
		}
		if err := ctx.Err(); err != nil {
			return nil, &store.Error{Kind: store.Interrupted, Doing: "sweep", Found: "stopped on request; nothing was changed", Err: err, Hint: "run it again"}
		}
		res, err := b.Execute(op)
		if err != nil {
			return nil, err
		}
		s.Resume(res)
	}
}

// expecter is a store that can prepare for queries, so that one pass over its
// records serves all of them.
type expecter interface {
	Expect(queries ...store.Query)
}
