package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/compact/move"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Files says which files of an interrupted compaction a root holds.
type Files struct {
	State     bool
	Plan      bool
	Journal   bool
	Leftovers []string // temporaries
}

// Any reports whether there is one at all.
func (f Files) Any() bool { return f.State || f.Plan || f.Journal || len(f.Leftovers) > 0 }

// Settle makes the directory durable and then looks which files are there. A
// run that is going to write looks in no other way: an entry that a kill left
// unsynced may vanish with the next power cut, after bytes were written on its
// word.
func Settle(fsys vfs.FS, dir string) (Files, error) {
	if err := fsys.SyncDir(dir); err != nil {
		return Files{}, ioError(dir, "sync", "", err)
	}
	return Look(fsys, dir)
}

// Look says which files are there, and writes nothing.
func Look(fsys vfs.FS, dir string) (Files, error) {
	var found Files
	for _, name := range root.CompactionEntries() {
		present, err := isPresent(fsys, filepath.Join(dir, name))
		if err != nil {
			return Files{}, ioError(dir, "look at", name, err)
		}
		if !present {
			continue
		}
		switch name {
		case root.State:
			found.State = true
		case root.Plan:
			found.Plan = true
		case root.Journal:
			found.Journal = true
		default:
			found.Leftovers = append(found.Leftovers, name)
		}
	}
	return found, nil
}

func isPresent(fsys vfs.FS, path string) (bool, error) {
	_, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ClearLeftovers removes the files of a run that was interrupted before step B
// or after the state was removed in step F. The caller has checked the root as
// an ordinary opening does: only that proves it whole. The plan is not read.
func ClearLeftovers(fsys vfs.FS, dir string, found Files) error {
	if found.State {
		panic("compact: a root with a state is resumed, not cleared")
	}
	names := append([]string{root.Journal}, found.Leftovers...)
	return removeInOrder(fsys, dir, append(names, root.Plan)...)
}

// Resume finishes an interrupted compaction of a root with a state. log is the
// structure of the current rows; glyphs of a half-moved arena prove nothing. It
// is nil exactly if the state says that a Reloader is reloading them. The caller
// has settled the directory.
func Resume(ctx context.Context, p Profile, log rowlog.Rows, found Files, opts Options) (Report, error) {
	r := newRun(p, opts)
	err := r.resume(ctx, log, found)
	r.endPhase()
	return r.report, err
}

func (r *run) resume(ctx context.Context, log rowlog.Rows, found Files) error {
	if err := requireRows(r.profile); err != nil {
		return err
	}
	state, err := readStateOf(r.profile.FS(), r.profile.Dir(), log)
	if err != nil {
		return err
	}
	file, rows, err := r.openPlan(log, state.Cursor)
	if err != nil {
		return err
	}
	err = r.measureBefore()
	if err == nil {
		err = removeInOrder(r.profile.FS(), r.profile.Dir(), found.Leftovers...)
	}
	if err == nil {
		err = r.forward(ctx, rows, state, true)
	}
	if err = r.closePlan(file, err); err != nil {
		return err
	}
	r.report.Outcome = Resumed
	return r.finish()
}

// readStateOf reads the state of a root with those rows, whose phase says
// whether there can be any.
func readStateOf(fsys vfs.FS, dir string, log rowlog.Rows) (format.State, error) {
	want := format.Move
	if log == nil {
		want = format.Reload
	}
	s, err := ReadState(fsys, dir)
	if err == nil && s.Phase != want {
		err = corruptFile(dir, root.State, "", fmt.Sprintf("phase %s", s.Phase), string(want)+", the phase of this profile")
	}
	return s, err
}

// ReadState reads compaction-state.
func ReadState(fsys vfs.FS, dir string) (format.State, error) {
	f, err := fsys.OpenFile(filepath.Join(dir, root.State), vfs.ReadOnly)
	if err != nil {
		return format.State{}, ioError(dir, "open", root.State, err)
	}
	buf := make([]byte, format.MaxStateLen+1)
	n, err := f.ReadAt(buf, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return format.State{}, ioError(dir, "read", root.State, err)
	}
	s, err := format.DecodeState(buf[:n])
	if err != nil {
		return s, corruptFile(dir, root.State, "", err.Error(), "")
	}
	return s, nil
}

// openPlan opens compaction-plan and believes it only after every check: a
// sane header, rows that fit each other, and rows that are those of the
// record-log, old or already published. Nothing was written before that.
func (r *run) openPlan(log rowlog.Rows, cursor format.RowIndex) (vfs.File, *move.Plan, error) {
	file, rows, summary, err := OpenPlan(r.profile.FS(), r.profile.Dir(), log, cursor)
	if err != nil {
		return nil, nil, err
	}
	h := rows.Header()
	r.report.Boundary = h.Boundary
	r.report.Retained = Count{h.Retained, summary.NewEnd}
	r.report.Removed = Count{uint64(h.Boundary) - h.Retained, h.OldEnd - summary.NewEnd}
	r.report.Moved = summary.Moved
	if summary.Kept != nil {
		r.report.Digest = summary.Kept.Digest(summary.log)
	}
	return file, rows, nil
}

func corruptFile(dir, name, where, found, want string) error {
	return &store.Error{
		Kind: store.CorruptStore, Doing: "resume", Root: dir, Path: filepath.Join(dir, name), Where: where, Found: found, Want: want,
		Hint: "nothing was changed; lace inspect " + dir,
	}
}

// Names lists the files that are there.
func (f Files) Names() []string {
	var names []string
	for _, x := range []struct {
		there bool
		name  string
	}{{f.State, root.State}, {f.Plan, root.Plan}, {f.Journal, root.Journal}} {
		if x.there {
			names = append(names, x.name)
		}
	}
	return append(names, f.Leftovers...)
}
