package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/verify"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// The states of a root.
const (
	stateHealthy     = "healthy"
	stateInterrupted = "interrupted"
	stateDamaged     = "damaged"
	stateBusy        = "busy"
)

// The steps in which a compaction can be interrupted. What A and F leave looks
// alike: files without a state, beside a root that is whole.
const (
	stepAorF = "A-or-F"
	stepB    = "B"
	stepC    = "C"
	stepD    = "D"
	stepEorF = "E-or-F"
	stepLoad = "reload"
)

func stepText(step string) string {
	switch step {
	case stepAorF:
		return "A or F: no record was moved, or all is done; only files are left to remove"
	case stepB:
		return "B: the posting lists were to be removed; no record was moved yet"
	case stepC:
		return "C: records are being moved"
	case stepD:
		return "D: every record is at its new place; the new record-log is to be published"
	case stepEorF:
		return "E or F: the new record-log is published; the tail is to be released"
	}
	return step + ": the rows of the database are being loaded again"
}

func (o *inspectOptions) root(ctx context.Context, s *session, name string) (document, error) {
	doc := &inspectDocument{head: newHead("inspect", name), Leftovers: []string{}}
	at, err := s.locate(name, o.lock)
	if err != nil {
		return doc, err
	}
	doc.Profile = at.word()
	if err := doc.measure(s, at.dir); err != nil {
		return doc, err
	}
	if o.locks {
		doc.Locks = lockBodies(s.fs, at.dir)
	}
	x, err := at.profile.Examine(ctx, at.dir, o.lock.openOptions(s))
	switch {
	case errors.Is(err, store.Busy):
		doc.State, doc.Problem = stateBusy, err.Error()
		doc.readUnlocked(s, at.dir)
		doc.NextCommand = "wait, then lace inspect " + doc.word()
		if at.profile.Name() == root.Node { // a dead owner leaves its sentinel
			doc.NextCommand += "; " + hintOf(err)
		}
		return doc, o.more(s, at, doc, nil)
	case errors.Is(err, store.CorruptStore):
		doc.beyondRepair(err)
		return doc, o.more(s, at, doc, nil)
	case err != nil:
		return doc, err
	}
	err = doc.describe(ctx, s.fs, at.dir, x)
	return doc, errors.Join(err, o.more(s, at, doc, x), x.Close())
}

// word is the root as a shell takes it.
func (d *inspectDocument) word() string { return ui.ShellWord(d.Root) }

// describe takes over what the examination found.
func (d *inspectDocument) describe(ctx context.Context, fsys vfs.FS, dir string, x profile.Examination) error {
	d.State, d.NextCommand = stateHealthy, "lace sweep "+d.word()+" --policy FILE --dry-run"
	if x.Table().Position() == 0 && x.Damage() == nil {
		d.NextCommand = "lace admit " + d.word() + " FILE"
	}
	end := x.Table().End()
	d.Records, d.HighWater = uint64(x.Table().Position()), uint64(x.Table().Position())
	d.Bytes, d.TornBytes = &end, x.TornBytes()
	switch {
	case x.Files().State && x.Damage() != nil:
		d.beyondRepair(x.Damage()) // which the plan was made from
	case x.Damage() != nil:
		d.damaged(x.Damage())
	case x.Files().State:
		if err := d.progress(fsys, dir, x); err != nil {
			d.beyondRepair(err)
			return nil
		}
		d.interrupted(fsys, dir)
	case x.Files().Any():
		d.Step = stepAorF
		return d.leftover(ctx, fsys, dir, x)
	}
	return nil
}

// leftover describes a root with files, but no state: that it is whole, as it
// is behind step A and behind step F, is what a resume wants to see first.
func (d *inspectDocument) leftover(ctx context.Context, fsys vfs.FS, dir string, x profile.Examination) error {
	report, err := verify.Root(ctx, x.Input(), verify.Options{Level: verify.Glyphs, MaxBad: 1})
	if err != nil {
		return err
	}
	if len(report.Bad) > 0 {
		first := report.Bad[0]
		d.damaged(fmt.Errorf("files of a compaction without %s, and the records are not whole: #%d: %s", root.State, first.ID, first.Problem))
		return nil
	}
	d.interrupted(fsys, dir)
	return nil
}

// damaged is for damage that verify can list, record by record.
func (d *inspectDocument) damaged(err error) {
	d.State, d.Problem = stateDamaged, err.Error()
	d.NextCommand = "lace verify " + d.word()
}

// beyondRepair is for damage that no command looks behind.
func (d *inspectDocument) beyondRepair(err error) {
	d.State, d.Problem = stateDamaged, err.Error()
	d.NextCommand = "restore the root from a backup; no command mends this"
}

// interrupted says what comes before the resume, if anything does.
func (d *inspectDocument) interrupted(fsys vfs.FS, dir string) {
	d.State, d.NextCommand = stateInterrupted, "lace resume "+d.word()
	if plan := readPlan(fsys, dir); plan != nil && d.Step != stepAorF {
		d.Problem = needNote(plan.MayNeedBytes, d.space)
	}
	switch {
	case d.ReadOnly:
		d.NextCommand = "mount the file system read-write, then " + d.NextCommand
	case d.Problem != "":
		d.NextCommand = "free some space, then " + d.NextCommand
	}
}

// progress says how far the compaction came. Whether every record is sound, in
// the journal too, is for lace verify to prove.
func (d *inspectDocument) progress(fsys vfs.FS, dir string, x profile.Examination) error {
	status, err := x.Status()
	if err != nil {
		return err
	}
	left := status.Summary.Moved - status.BytesDone
	d.Compaction = &compactionBody{
		Phase: string(status.State.Phase), Cursor: uint64(status.State.Cursor), Rows: status.Header.Retained,
		Percent: &status.Percent, BytesLeft: &left, Published: &status.Summary.Published,
	}
	_, err = fsys.Stat(filepath.Join(dir, root.Indexes))
	switch {
	case status.State.Phase == format.Reload:
		d.Step = stepLoad
	case status.Summary.Published:
		d.Step = stepEorF
	case uint64(status.State.Cursor) == status.Header.Retained:
		d.Step = stepD
	case status.State.Cursor == 0 && err == nil && !x.Files().Journal:
		d.Step = stepB
	default:
		d.Step = stepC
	}
	return nil
}

// readUnlocked reads what can be told of a root that somebody else has open:
// whole rows and replaced files are what they are at any moment.
func (d *inspectDocument) readUnlocked(s *session, dir string) {
	d.WithoutLock = true
	if log, size, err := readTail(s.fs, filepath.Join(dir, root.RecordLog), rowlog.RowLen); err == nil {
		d.Records = uint64(size) / rowlog.RowLen
		d.HighWater = d.Records
		if row, err := rowlog.Decode(log); err == nil || size == 0 {
			end := row.End()
			d.Bytes = &end
		}
	}
	text, err := readStart(s.fs, filepath.Join(dir, root.State), format.MaxStateLen+1)
	if err != nil {
		return
	}
	state, err := format.DecodeState(text)
	if err != nil {
		return
	}
	d.Compaction = &compactionBody{Phase: string(state.Phase), Cursor: uint64(state.Cursor)}
	if text, err = readStart(s.fs, filepath.Join(dir, root.Plan), format.PlanHeaderLen); err == nil {
		if h, err := format.DecodePlanHeader(text); err == nil {
			d.Compaction.Rows = h.Retained
		}
	}
}

// readStart reads at most n bytes of a file.
func readStart(fsys vfs.FS, path string, n int) ([]byte, error) {
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	got, err := f.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:got], errors.Join(err, f.Close())
}

// readTail reads the last whole unit of n bytes of a file, and its size.
func readTail(fsys vfs.FS, path string, n int64) ([]byte, int64, error) {
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil || info.Size < n {
		return nil, info.Size, errors.Join(err, f.Close())
	}
	b := make([]byte, n)
	_, err = f.ReadAt(b, info.Size/n*n-n)
	return b, info.Size, errors.Join(err, f.Close())
}

// measure adds what can be seen without owning the root.
func (d *inspectDocument) measure(s *session, dir string) error {
	files, err := compact.Look(s.fs, dir)
	if err != nil {
		return err
	}
	d.Leftovers = append(d.Leftovers, files.Names()...)
	if info, err := s.fs.Stat(filepath.Join(dir, root.Records)); err == nil {
		d.CapacityBytes, d.AllocatedBytes = uint64(info.Size), uint64(max(info.Allocated, 0))
	}
	space, err := s.fs.Space(dir)
	if err != nil {
		return &store.Error{Kind: store.Store, Doing: "measure the file system of", Root: dir, Err: err}
	}
	d.space, d.FSType, d.ReadOnly = space, space.FSType, space.ReadOnly
	if space.FreeBytes >= 0 {
		d.FreeBytes = &space.FreeBytes
	}
	if space.FreeInodes >= 0 {
		d.FreeInodes = &space.FreeInodes
	}
	return nil
}

// resumeEntries is how many files a resume makes beside the others at a time: a
// journal, and the temporary of a replacement.
const resumeEntries = 2

// needNote says that a resume may lack space, from what its plan takes at most.
func needNote(need uint64, space vfs.Space) string {
	switch {
	case space.FreeBytes >= 0 && uint64(space.FreeBytes) < need:
		return fmt.Sprintf("a resume may need %d bytes, %d are free", need, space.FreeBytes)
	case space.FreeInodes >= 0 && space.FreeInodes < resumeEntries:
		return fmt.Sprintf("a resume may need %d files, the inodes for %d are free", resumeEntries, space.FreeInodes)
	}
	return ""
}
