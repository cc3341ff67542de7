package sweep

import (
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/sweep/eval"
	"github.com/lace-store/lace/pkg/sweep/window"
)

// RetentionSweep is one sweep as a machine: see the package comment for what
// its driver does. It is not safe for concurrent use.
type RetentionSweep struct {
	modules []*program.Program
	options Options
	next    func() (store.Op, bool)
	stop    func()
	waiting bool         // an operation was handed out
	answer  store.Result // of that operation
	result  *Result
	err     error
	ops     uint64
}

// New returns the sweep of a list of modules. It refuses what cannot be
// evaluated before any operation: an *eval.UnsupportedError, or a
// store.Integration error for options out of their range.
func New(modules []*program.Program, o Options) (*RetentionSweep, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	for _, p := range modules {
		if err := eval.Check(p); err != nil {
			return nil, err
		}
	}
	s := &RetentionSweep{modules: modules, options: o.withDefaults()}
	s.next, s.stop = iter.Pull(s.operations)
	return s, nil
}

// Queries returns the searches that the sweep is likely to repeat, for a store
// that can prepare for them before the first operation.
func (s *RetentionSweep) Queries() []store.Query {
	var queries []store.Query
	for _, p := range s.modules {
		queries = append(queries, eval.Queries(p)...)
	}
	return queries
}

// Next returns the next operation. It is false when the sweep has ended, with
// success or not. The operation before must have been answered.
func (s *RetentionSweep) Next() (store.Op, bool) {
	if s.waiting {
		panic("sweep: Next before Resume")
	}
	op, ok := s.next()
	s.waiting = ok
	return op, ok
}

// Resume takes the result of the operation that Next returned last.
func (s *RetentionSweep) Resume(res store.Result) {
	if !s.waiting {
		panic("sweep: Resume without an operation")
	}
	s.waiting, s.answer = false, res
}

// Stop ends the sweep. It is needed after an error of the store or when the
// sweep is abandoned, and harmless at any other time.
func (s *RetentionSweep) Stop() {
	s.stop()
	s.waiting, s.answer = false, nil
}

// Result returns the outcome once Next has returned false.
func (s *RetentionSweep) Result() (*Result, error) {
	if s.result == nil && s.err == nil {
		return nil, errStopped
	}
	return s.result, s.err
}

// errStopped unwinds an evaluation whose driver gave up.
var errStopped = &store.Error{Kind: store.Interrupted, Doing: "sweep", Found: "stopped before its end", Hint: "nothing was changed; run it again"}

// operations is the coroutine: it evaluates, and yields what it must know.
func (s *RetentionSweep) operations(yield func(store.Op) bool) {
	// Records may lie in a mapping of a file that cannot be read any more.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	result, err := guarded(func() (*Result, error) { return s.evaluate(asker{s, yield}) })
	s.result, s.err, s.answer = result, err, nil
}

// guarded turns a memory fault of f into an error. Every other panic goes on.
func guarded(f func() (*Result, error)) (result *Result, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			result, err = nil, &store.Error{Kind: store.Store, Doing: "read records",
				Found: fmt.Sprintf("memory at %#x cannot be read: the disk failed, or the file was cut short", cause.Addr()), Err: cause}
		default:
			panic(cause)
		}
	}()
	return f()
}

// asker is the store as the evaluation sees it.
type asker struct {
	sweep *RetentionSweep
	yield func(store.Op) bool
}

var _ eval.Store = asker{}

// Execute hands the operation out and waits for its answer.
func (a asker) Execute(op store.Op) (store.Result, error) {
	a.sweep.ops++
	if !a.yield(op) {
		return nil, errStopped
	}
	res := a.sweep.answer
	a.sweep.answer = nil
	return res, nil
}

// evaluate decides every id of the root.
func (s *RetentionSweep) evaluate(a asker) (*Result, error) {
	boundary, err := currentPosition(a)
	if err != nil {
		return nil, err
	}
	anchors, err := s.anchors(a, boundary)
	if err != nil {
		return nil, err
	}
	r := &Result{Kept: kept.New(boundary), Report: Report{Boundary: boundary, Options: s.options}}
	decided, total := uint64(0), uint64(boundary)*uint64(len(s.modules))
	for _, p := range s.modules {
		m, err := s.module(a, p, boundary, anchors, func(n uint64) { s.options.Progress(decided+n, total) })
		if err != nil {
			return nil, err
		}
		decided += uint64(boundary)
		r.Kept.Union(m.Kept)
		r.Report.Modules = append(r.Report.Modules, m)
	}
	r.Report.Retained, r.Report.Operations = r.Kept.Count(), s.ops
	return r, nil
}

func currentPosition(a asker) (store.Position, error) {
	res, err := a.Execute(store.CurrentStorePosition{})
	if err != nil {
		return 0, err
	}
	position, ok := res.(store.PositionResult)
	if !ok {
		return 0, &store.Error{Kind: store.Integration, Doing: "answer CurrentStorePosition", Found: fmt.Sprintf("a result of type %T", res)}
	}
	return position.Position, nil
}

// anchors returns the hashes of the records that end one window and begin the
// next: those of the ids kW below the boundary. They are loaded in one batch,
// and only their hashes are kept.
func (s *RetentionSweep) anchors(a asker, boundary store.Position) ([]string, error) {
	op := store.LoadRecordsByStoreID{}
	for at := s.options.WindowRecords; at < uint64(boundary) && at >= s.options.WindowRecords; at += s.options.WindowRecords {
		op.Refs = append(op.Refs, store.Ref{ID: store.RecordID(at)})
	}
	if len(op.Refs) == 0 {
		return nil, nil
	}
	res, err := a.Execute(op)
	if err != nil {
		return nil, err
	}
	loaded, ok := res.(store.LoadedResult)
	if !ok || len(loaded.Records) != len(op.Refs) {
		return nil, &store.Error{Kind: store.Integration, Doing: "answer LoadRecordsByStoreID", Found: fmt.Sprintf("a result of type %T", res)}
	}
	hashes := make([]string, len(op.Refs))
	for i, rec := range loaded.Records {
		if rec.ID != op.Refs[i].ID {
			return nil, &store.Error{Kind: store.Integration, Doing: "answer LoadRecordsByStoreID", ID: op.Refs[i].ID, Found: fmt.Sprintf("record #%d", rec.ID)}
		}
		if named, err := record.ParseGlyphLine(rec.Bytes); err != nil || named != rec.Hash {
			return nil, &store.Error{Kind: store.Integration, Doing: "read record", ID: rec.ID, Hash: rec.Hash, Found: "the glyph line of another record", Err: err}
		}
		hashes[i] = rec.Hash.String()
	}
	return hashes, nil
}

// module evaluates all windows of one module.
func (s *RetentionSweep) module(a asker, p *program.Program, boundary store.Position, anchors []string, progress func(uint64)) (ModuleReport, error) {
	m := ModuleReport{File: p.File, Kept: kept.New(boundary), WorkAllowed: s.options.work(boundary)}
	if p.Select == program.NoPredicate || boundary == 0 {
		progress(uint64(boundary))
		return m, nil
	}
	evaluator := eval.New(a, p.File, s.options.eval(boundary))
	for i := 0; i <= len(anchors); i++ {
		w := WindowReport{Upper: boundary}
		var bounds window.Anchors
		if i > 0 {
			w.Lower, bounds.After = store.Position(uint64(i)*s.options.WindowRecords), anchors[i-1]
		}
		if i < len(anchors) {
			w.Upper, bounds.Through = store.Position(uint64(i+1)*s.options.WindowRecords), anchors[i]
		}
		cost, err := evaluator.Window(window.Rewrite(p, bounds), w.Lower, w.Upper, m.Kept.Add)
		if err != nil {
			return m, err
		}
		w.Work, w.RecordsRead, w.Rows = cost.Work, cost.RecordsRead, cost.Rows
		m.Windows = append(m.Windows, w)
		progress(uint64(w.Upper))
	}
	m.Retained = m.Kept.Count()
	return m, nil
}
