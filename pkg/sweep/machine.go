package sweep

import (
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/sweep/eval"
	"github.com/lace-store/lace/pkg/sweep/specialize"
)

// RetentionSweep is one sweep as a machine that hands out parts: see the
// package comment for what its driver does. It is not safe for concurrent use;
// its parts are, beside each other and beside it.
type RetentionSweep struct {
	programs   []*program.Program // specialised
	options    Options
	modules    []*module // once the boundary is known
	begun      bool
	stopped    bool
	running    []*Part
	failed     *Part // the first in order of those that failed
	result     *Result
	decided    uint64 // ids, summed over the modules
	operations uint64
}

// New returns the sweep of a list of modules. Options out of their range are a
// store.Integration error, before any operation.
func New(modules []*program.Program, o Options) (*RetentionSweep, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &RetentionSweep{options: o.withDefaults()}
	for _, p := range modules {
		s.programs = append(s.programs, specialize.Rewrite(p))
	}
	return s, nil
}

// Queries returns the searches that the sweep is likely to repeat, for a store
// that can prepare for them before the first operation.
func (s *RetentionSweep) Queries() []store.Query {
	var queries []store.Query
	for _, p := range s.programs {
		queries = append(queries, eval.Queries(p)...)
	}
	return queries
}

// Part returns a part that can be evaluated now, beside those that have not
// ended. It is nil when there is none: until another part ends, or for good
// when all have.
func (s *RetentionSweep) Part() *Part {
	p := s.part()
	if p != nil {
		s.running = append(s.running, p)
	}
	return p
}

func (s *RetentionSweep) part() *Part {
	switch {
	case s.stopped:
		return nil
	case !s.begun:
		s.begun = true
		return s.beginning()
	}
	for _, m := range s.modules {
		// Whatever stands before a part of its module was handed out before it.
		if s.failed != nil && m.number >= s.failed.order.module {
			return nil
		}
		if p := m.part(); p != nil {
			return p
		}
	}
	return nil
}

// End takes back a part that is not driven any more. A part that failed
// abandons those behind it, and what is before it goes on: it would have come
// first, and may fail too.
func (s *RetentionSweep) End(p *Part) {
	p.Stop()
	s.running = slices.DeleteFunc(s.running, func(other *Part) bool { return other == p })
	switch {
	case p.abandoned.Load():
	case p.err == error(errStopped):
		s.Stop()
	case p.err != nil:
		s.fail(p)
	default:
		s.operations += p.ops
		p.adopt()
	}
}

func (s *RetentionSweep) fail(p *Part) {
	s.failed = p
	for _, other := range s.running {
		if other.order.after(p.order) {
			other.abandoned.Store(true)
		}
	}
}

// Stop ends the sweep: there are no further parts, and those that have not
// ended hand out no further operation. It is needed after an error of the
// store or when the sweep is abandoned, and harmless at any other time.
func (s *RetentionSweep) Stop() {
	s.stopped = true
	for _, p := range s.running {
		p.abandoned.Store(true)
	}
}

// Result returns the outcome once all parts have ended.
func (s *RetentionSweep) Result() (*Result, error) {
	switch {
	case len(s.running) > 0 || s.result == nil && s.failed == nil:
		return nil, errStopped
	case s.failed != nil:
		return nil, s.failed.err
	case len(s.modules) > 0:
		return nil, errStopped
	}
	return s.result, nil
}

// beginning is the part that all others wait for.
func (s *RetentionSweep) beginning() *Part {
	var boundary store.Position
	var anchors []string
	evaluate := func(ask eval.Store) (err error) {
		if boundary, err = currentPosition(ask); err != nil {
			return err
		}
		anchors, err = s.anchors(ask, boundary)
		return err
	}
	return newPart(order{}, evaluate, func() {
		s.result = &Result{Kept: kept.New(boundary), Report: Report{Boundary: boundary, Options: s.options}}
		for i, program := range s.programs {
			s.modules = append(s.modules, newModule(s, program, i+1, boundary, anchors))
		}
		s.progress(0)
		s.settle()
	})
}

// progress reports n more ids that are decided.
func (s *RetentionSweep) progress(n store.Position) {
	s.decided += uint64(n)
	s.options.Progress(s.decided, uint64(s.result.Report.Boundary)*uint64(len(s.programs)))
}

// settle takes the outcome of the modules that have ended. They are dropped in
// their order, so that what they derived is.
func (s *RetentionSweep) settle() {
	s.result.Report.Operations = s.operations
	for len(s.modules) > 0 && s.modules[0].left == 0 {
		if len(s.modules[0].bounds) == 0 {
			s.progress(s.result.Report.Boundary) // it selects nothing
		}
		report := s.modules[0].report
		report.Retained = report.Kept.Count()
		s.result.Kept.Union(report.Kept)
		s.result.Report.Modules = append(s.result.Report.Modules, report)
		s.result.Report.Retained = s.result.Kept.Count()
		s.modules = s.modules[1:]
	}
}

func currentPosition(ask eval.Store) (store.Position, error) {
	res, err := ask.Execute(store.CurrentStorePosition{})
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
func (s *RetentionSweep) anchors(ask eval.Store, boundary store.Position) ([]string, error) {
	op := store.LoadRecordsByStoreID{}
	for at := s.options.WindowRecords; at < uint64(boundary) && at >= s.options.WindowRecords; at += s.options.WindowRecords {
		op.Refs = append(op.Refs, store.Ref{ID: store.RecordID(at)})
	}
	if len(op.Refs) == 0 {
		return nil, nil
	}
	res, err := ask.Execute(op)
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
