package compact

import (
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// directorySlack is room for directory blocks and block rounding of the files
// that a compaction makes, in bytes.
const directorySlack = 1 << 20

// Need returns the bytes of free space that executing the plan takes at most:
// the plan file, one journal, and the new record-log beside the old one.
func (p *Plan) Need() uint64 {
	journal := min(p.Header.Journal, p.Moved)
	return uint64(p.Header.PlanLen()) + journal + p.Retained.Records*rowlog.RowLen + directorySlack
}

// newEntries is how many files exist at most that did not before: plan, state,
// journal and one temporary.
const newEntries = 4

// preflight refuses a run that would meet a full disk, before anything is
// changed.
func (r *run) preflight(plan *Plan) error {
	dir := r.profile.Dir()
	space, err := r.profile.FS().Space(dir)
	if err != nil {
		return r.ioError("measure the file system of", "", err)
	}
	need := plan.Need()
	if space.CopyOnWrite {
		// Here a batch takes new blocks before the sync frees the old ones.
		need += min(plan.Header.Journal, plan.Moved)
	}
	if p, ok := r.profile.(Reloader); ok {
		more, err := p.ReloadNeed(plan.Retained.Records)
		if err != nil {
			return err
		}
		need += more
	}
	r.report.Needed, r.report.Free, r.report.CopyOnWrite = need, space.FreeBytes, space.CopyOnWrite
	if space.FreeBytes >= 0 && uint64(space.FreeBytes) < need {
		return noSpace(dir, fmt.Sprintf("%d bytes are free", space.FreeBytes), fmt.Sprintf("%d", need))
	}
	if space.FreeInodes >= 0 && space.FreeInodes < newEntries {
		return noSpace(dir, fmt.Sprintf("%d inodes are free", space.FreeInodes), fmt.Sprintf("%d", newEntries))
	}
	return nil
}

func noSpace(dir, found, want string) error {
	return &store.Error{
		Kind: store.Store, Reason: store.NoSpace, Doing: "compact", Root: dir, Found: found, Want: want,
		Hint: "nothing was changed; free some space first",
	}
}
