package sweep

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
)

// Run sweeps the root of a store under prepared policies, with as many parts
// evaluated side by side as the options say; the store gets one operation at a
// time. It stops before the next store operation once ctx is done, with a
// store.Interrupted error. Other errors are those of New, of the store, and
// *eval.LimitError. When it returns no record that the store answered with is
// alive, and no goroutine of it.
func Run(ctx context.Context, b store.Backend, prepared *policy.Prepared, o Options) (*Result, error) {
	return RunPrograms(ctx, b, programs(prepared), o)
}

func programs(prepared *policy.Prepared) []*program.Program {
	modules := make([]*program.Program, len(prepared.Modules))
	for i, m := range prepared.Modules {
		modules[i] = m.Program
	}
	return modules
}

// RunPrograms is Run over programs.
func RunPrograms(ctx context.Context, b store.Backend, modules []*program.Program, o Options) (*Result, error) {
	s, err := New(modules, o)
	if err != nil {
		return nil, err
	}
	if prepares, ok := b.(expecter); ok {
		prepares.Expect(s.Queries()...)
	}
	d := &driver{ctx: ctx, backend: b}
	ended := make(chan *Part)
	for running := 0; ; running-- {
		for ; running < s.options.Jobs; running++ {
			p := s.Part()
			if p == nil {
				break
			}
			go func() {
				d.drive(p)
				ended <- p
			}()
		}
		if running == 0 {
			break
		}
		p := <-ended
		if d.failure() != nil {
			s.Stop()
		}
		s.End(p)
	}
	if err := d.failure(); err != nil {
		return nil, err
	}
	return s.Result()
}

// driver executes the operations of parts, one at a time, until the first
// error; from then on every operation ends with that.
type driver struct {
	ctx     context.Context
	mu      sync.Mutex
	backend store.Backend
	err     error
}

// drive drives a part to its end, or to an error of the store.
func (d *driver) drive(p *Part) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for {
		op, ok := p.Next()
		if !ok {
			return
		}
		res, err := d.execute(op)
		if err != nil {
			return
		}
		p.Resume(res)
	}
}

func (d *driver) execute(op store.Op) (res store.Result, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.err != nil:
	case d.ctx.Err() != nil:
		d.err = &store.Error{Kind: store.Interrupted, Doing: "sweep", Found: "stopped on request; nothing was changed", Err: d.ctx.Err(), Hint: "run it again"}
	default:
		// A store that does not know of mappings may still read one.
		d.err = guarded(func() (err error) {
			res, err = d.backend.Execute(op)
			return err
		})
	}
	return res, d.err
}

func (d *driver) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// expecter is a store that can prepare for queries, so that one pass over its
// records serves all of them.
type expecter interface {
	Expect(queries ...store.Query)
}
