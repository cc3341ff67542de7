package sweep

import (
	"cmp"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep/eval"
)

// Part is a piece of a sweep that can be evaluated beside others: see the
// package comment for what its driver does. It is a machine of its own, for
// one goroutine at a time.
type Part struct {
	order     order
	next      func() (store.Op, bool)
	stop      func()
	waiting   bool         // an operation was handed out
	answer    store.Result // of that operation
	err       error        // errStopped until it was evaluated
	ops       uint64
	abandoned atomic.Bool // its outcome is not needed any more
	adopt     func()      // makes its outcome a part of the sweep's
}

// order is where a part stands. Of several parts that fail, the first in order
// decides the outcome.
type order struct{ module, round, window int }

func (o order) after(p order) bool {
	return cmp.Or(cmp.Compare(o.module, p.module), cmp.Compare(o.round, p.round), cmp.Compare(o.window, p.window)) > 0
}

// newPart returns a part that evaluates and then, unless that fails, adopts.
func newPart(at order, evaluate func(eval.Store) error, adopt func()) *Part {
	p := &Part{order: at, adopt: adopt, err: errStopped}
	p.next, p.stop = iter.Pull(func(yield func(store.Op) bool) {
		// Records may lie in a mapping of a file that cannot be read any more.
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		p.err = guarded(func() error { return evaluate(asker{p, yield}) })
		p.answer = nil
	})
	return p
}

// Next returns the next operation. It is false when the part has ended, with
// success or not. The operation before must have been answered.
func (p *Part) Next() (store.Op, bool) {
	if p.waiting {
		panic("sweep: Next before Resume")
	}
	if p.abandoned.Load() {
		p.Stop()
	}
	op, ok := p.next()
	p.waiting = ok
	return op, ok
}

// Resume takes the result of the operation that Next returned last.
func (p *Part) Resume(res store.Result) {
	if !p.waiting {
		panic("sweep: Resume without an operation")
	}
	p.waiting, p.answer = false, res
}

// Stop ends the part. It is needed when a part is not driven to its end, and
// harmless at any other time.
func (p *Part) Stop() {
	p.stop()
	p.waiting, p.answer = false, nil
}

// errStopped unwinds an evaluation whose driver gave up.
var errStopped = &store.Error{Kind: store.Interrupted, Doing: "sweep", Found: "stopped before its end", Hint: "nothing was changed; run it again"}

// guarded turns a memory fault of f into an error. Every other panic goes on.
func guarded(f func() error) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			err = &store.Error{Kind: store.Store, Doing: "read records",
				Found: fmt.Sprintf("memory at %#x cannot be read: the disk failed, or the file was cut short", cause.Addr()), Err: cause}
		default:
			panic(cause)
		}
	}()
	return f()
}

// asker is the store as the evaluation of a part sees it.
type asker struct {
	part  *Part
	yield func(store.Op) bool
}

var _ eval.Store = asker{}

// Execute hands the operation out and waits for its answer.
func (a asker) Execute(op store.Op) (store.Result, error) {
	a.part.ops++
	if !a.yield(op) {
		return nil, errStopped
	}
	res := a.part.answer
	a.part.answer = nil
	return res, nil
}
