package logfile

import (
	"context"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// GoOn does what an opening does at once and a compaction puts off until nothing
// refuses it any more: what the log needs first, the files that were found of a
// compaction without a state, the index generations of other projections and the
// other entries that are named. The opening has shown that the root is whole.
func (r Repair) GoOn(fsys vfs.FS, dir string, found compact.Files, others ...string) error {
	if err := r.applyTo(fsys, dir); err != nil {
		return err
	}
	if err := compact.ClearLeftovers(fsys, dir, found); err != nil {
		return err
	}
	return Clean(fsys, dir, others...)
}

// NothingToResume is a resume of a root without a state. Files that were found of
// a compaction are cleared away, once the checks of an ordinary opening have shown
// that the root is whole; of a root without any, the log is checked, but no record.
func NothingToResume(ctx context.Context, fsys vfs.FS, dir string, found compact.Files) (compact.Report, error) {
	report := compact.Report{Outcome: compact.NothingToDo}
	if !found.Any() {
		return report, checkLog(fsys, dir)
	}
	if err := checkWhole(ctx, fsys, dir); err != nil {
		return report, err
	}
	return report, compact.ClearLeftovers(fsys, dir, found)
}
