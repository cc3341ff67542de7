package sweep

import (
	"fmt"
	"math"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep/eval"
)

// The constants of seeds 000 and 004.
const (
	WindowRecords   = 1 << 20
	MaxRelationRows = 1 << 20
	WorkPerRecord   = 2048
	PageRows        = 256
	BlockBindings   = 1024
	DistinctQueries = 64
)

// Jobs is how many parts are evaluated at a time unless the options say more.
const Jobs = 1

// What the options may ask for at most. Rows of a relation are numbered with
// 32 bits.
const (
	MostJobs         = 1 << 20
	MostRelationRows = 1 << 31
)

// Options bound a sweep. A zero field means the constant of its name. The
// result depends on none of them, and the rest of the report not on Jobs; only
// MaxRelationRows and WorkPerRecord can end a sweep, with an *eval.LimitError.
type Options struct {
	WindowRecords   uint64 // ids decided at a time
	MaxRelationRows uint64 // derived rows of one relation in one window; at most MostRelationRows
	WorkPerRecord   uint64 // join bindings and record reads of one window, per record of the root
	PageRows        int    // records of one page of a search
	BlockBindings   int    // bindings that are joined together
	DistinctQueries int    // different searches for one block
	Jobs            int    // parts evaluated at a time, at most MostJobs: memory grows with it, up to that of a window for each
	// DeriveEachWindow derives anew in each window what all windows share, as
	// seed 000 does: what sharing is compared and measured with.
	DeriveEachWindow bool
	// Progress, unless nil, is called at the beginning and after every window
	// with the ids that are decided, summed over the modules, and their total: one call after
	// the other, from the goroutine that drives the sweep.
	Progress func(decided, total uint64)
}

func (o Options) withDefaults() Options {
	orElse(&o.WindowRecords, WindowRecords)
	orElse(&o.MaxRelationRows, MaxRelationRows)
	orElse(&o.WorkPerRecord, WorkPerRecord)
	orElse(&o.PageRows, PageRows)
	orElse(&o.BlockBindings, BlockBindings)
	orElse(&o.DistinctQueries, DistinctQueries)
	orElse(&o.Jobs, Jobs)
	if o.Progress == nil {
		o.Progress = func(uint64, uint64) {}
	}
	return o
}

func orElse[T comparable](field *T, standard T) {
	var zero T
	if *field == zero {
		*field = standard
	}
}

// validate checks what the caller set; zero means the standard.
func (o Options) validate() error {
	for _, f := range []struct {
		name  string
		value int
		most  int
	}{
		{"PageRows", o.PageRows, 1 << 20},
		{"BlockBindings", o.BlockBindings, 1 << 20},
		{"DistinctQueries", o.DistinctQueries, 1 << 20},
		{"Jobs", o.Jobs, MostJobs},
	} {
		if f.value < 0 || f.value > f.most {
			return &store.Error{Kind: store.Integration, Doing: "sweep", Where: f.name,
				Found: fmt.Sprint(f.value), Want: fmt.Sprintf("1 to %d", f.most)}
		}
	}
	if o.MaxRelationRows > MostRelationRows {
		return &store.Error{Kind: store.Integration, Doing: "sweep", Where: "MaxRelationRows",
			Found: fmt.Sprint(o.MaxRelationRows), Want: fmt.Sprintf("at most %d", MostRelationRows)}
	}
	return nil
}

// work returns the budget of a window over a root of so many records.
func (o Options) work(boundary store.Position) uint64 {
	if uint64(boundary) > math.MaxUint64/o.WorkPerRecord {
		return math.MaxUint64
	}
	return uint64(boundary) * o.WorkPerRecord
}

func (o Options) eval(boundary store.Position) eval.Options {
	return eval.Options{
		Boundary: boundary, PageRows: o.PageRows, BlockBindings: o.BlockBindings,
		DistinctQueries: o.DistinctQueries, RelationRows: o.MaxRelationRows, Work: o.work(boundary),
	}
}
