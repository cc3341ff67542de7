package compacttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Plain is a profile with nothing but what a compaction needs: a log, an arena
// and an index directory, without marker, locks and mapping. With Truncate its
// arena has the exact committed length, otherwise it is sparse and longer.
type Plain struct{ Truncate bool }

var _ Subject = Plain{}

// plainCapacity is the length of a sparse arena, in bytes.
const plainCapacity = mostRead

// Build implements Subject.
func (p Plain) Build(fsys vfs.FS, dir string, records [][]byte) error {
	if err := fsys.Mkdir(dir); err != nil {
		return err
	}
	var log, arena []byte
	for _, rec := range records {
		h, err := record.ParseGlyphLine(rec)
		if err != nil {
			return err
		}
		log = rowlog.Row{Hash: h, Offset: uint64(len(arena)), Len: uint64(len(rec))}.AppendTo(log)
		arena = append(arena, rec...)
	}
	lists := filepath.Join(dir, root.Indexes)
	if err := fsys.Mkdir(lists); err != nil {
		return err
	}
	// In a fixed order: the numbers of the inodes choose what a seed loses.
	for _, f := range []struct {
		path    string
		content []byte
	}{
		{filepath.Join(dir, root.RecordLog), log},
		{filepath.Join(dir, root.Records), append(arena, "residue of a failed write"...)},
		{filepath.Join(lists, "x61.ids"), []byte("old ids")},
	} {
		size := int64(len(f.content))
		if filepath.Base(f.path) == root.Records && !p.Truncate {
			size = plainCapacity
		}
		if err := writeFile(fsys, f.path, f.content, size); err != nil {
			return err
		}
	}
	return errors.Join(fsys.SyncDir(lists), fsys.SyncDir(dir))
}

func writeFile(fsys vfs.FS, path string, content []byte, size int64) error {
	f, err := fsys.OpenFile(path, vfs.ReadWrite|vfs.Create)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	return errors.Join(err, f.Truncate(size), f.Sync(), f.Close())
}

// Compact implements Subject.
func (p Plain) Compact(ctx context.Context, fsys vfs.FS, dir string, set *kept.Set, s Settings) (compact.Report, error) {
	found, err := compact.Settle(fsys, dir)
	if err != nil {
		return compact.Report{}, err
	}
	if found.State {
		return p.resume(ctx, fsys, dir, found, s)
	}
	table, err := p.whole(fsys, dir)
	if err != nil {
		return compact.Report{}, err
	}
	if err := compact.ClearLeftovers(fsys, dir, found); err != nil {
		return compact.Report{}, err
	}
	plan, err := compact.NewPlan(table, set, s.Journal)
	if err != nil {
		return compact.Report{}, err
	}
	return p.withArena(fsys, dir, func(root *plainRoot) (compact.Report, error) {
		return compact.Run(ctx, root, plan, s.Run)
	})
}

// Resume implements Subject.
func (p Plain) Resume(ctx context.Context, fsys vfs.FS, dir string, s Settings) (compact.Report, error) {
	found, err := compact.Settle(fsys, dir)
	if err != nil {
		return compact.Report{}, err
	}
	if found.State {
		return p.resume(ctx, fsys, dir, found, s)
	}
	if _, err := p.whole(fsys, dir); err != nil {
		return compact.Report{}, err
	}
	return compact.Report{Outcome: compact.NothingToDo}, compact.ClearLeftovers(fsys, dir, found)
}

func (p Plain) resume(ctx context.Context, fsys vfs.FS, dir string, found compact.Files, s Settings) (compact.Report, error) {
	table, err := loadLog(fsys, dir)
	if err != nil {
		return compact.Report{}, err
	}
	return p.withArena(fsys, dir, func(root *plainRoot) (compact.Report, error) {
		return compact.Resume(ctx, root, table, found, s.Run)
	})
}

// Open implements Subject.
func (p Plain) Open(_ context.Context, fsys vfs.FS, dir string) error {
	found, err := compact.Look(fsys, dir)
	if err != nil {
		return err
	}
	if found.Any() {
		return &store.Error{Kind: store.NeedsResume, Doing: "open", Root: dir, Hint: "lace resume " + dir}
	}
	_, err = p.whole(fsys, dir)
	return err
}

// whole loads the log and checks every record by its full hash.
func (p Plain) whole(fsys vfs.FS, dir string) (*rowlog.Table, error) {
	table, err := loadLog(fsys, dir)
	if err != nil {
		return nil, err
	}
	arena, err := readFile(fsys, filepath.Join(dir, root.Records))
	if err != nil {
		return nil, err
	}
	for i := range uint64(table.Position()) {
		row := table.Row(rowlog.ID(i))
		if row.End() > uint64(len(arena)) {
			return nil, fmt.Errorf("row %d ends at %d of %d", i, row.End(), len(arena))
		}
		if err := record.VerifyBytes(arena[row.Offset:row.End()], row.Hash); err != nil {
			return nil, &store.Error{Kind: store.CorruptStore, Doing: "open", Where: fmt.Sprintf("row %d", i), Err: err}
		}
	}
	return table, nil
}

func loadLog(fsys vfs.FS, dir string) (*rowlog.Table, error) {
	log, err := readFile(fsys, filepath.Join(dir, root.RecordLog))
	if err != nil {
		return nil, err
	}
	table := &rowlog.Table{}
	for len(log) >= rowlog.RowLen {
		row, err := rowlog.Decode(log)
		if err == nil {
			err = table.Append(row)
		}
		if err != nil {
			return nil, &store.Error{Kind: store.CorruptStore, Doing: "open", Err: err}
		}
		log = log[rowlog.RowLen:]
	}
	return table, nil
}

func readFile(fsys vfs.FS, path string) (b []byte, err error) {
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b = make([]byte, info.Size)
	if _, err = f.ReadAt(b, 0); errors.Is(err, io.EOF) {
		err = nil
	}
	return b, err
}

func (p Plain) withArena(fsys vfs.FS, dir string, f func(*plainRoot) (compact.Report, error)) (compact.Report, error) {
	arena, err := fsys.OpenFile(filepath.Join(dir, root.Records), vfs.ReadWrite)
	if err != nil {
		return compact.Report{}, err
	}
	report, err := f(&plainRoot{fsys: fsys, dir: dir, arena: arena, truncate: p.Truncate})
	return report, errors.Join(err, arena.Close())
}

// plainRoot is what a compaction sees of a plain root.
type plainRoot struct {
	fsys     vfs.FS
	dir      string
	arena    vfs.File
	truncate bool
}

var _ compact.Publisher = (*plainRoot)(nil)

func (r *plainRoot) FS() vfs.FS      { return r.fsys }
func (r *plainRoot) Dir() string     { return r.dir }
func (r *plainRoot) Arena() vfs.File { return r.arena }

func (r *plainRoot) RemoveIndexes() error {
	if err := vfs.RemoveTree(r.fsys, filepath.Join(r.dir, root.Indexes)); err != nil {
		return err
	}
	return r.fsys.SyncDir(r.dir)
}

func (r *plainRoot) Publish(rows iter.Seq2[rowlog.Row, error]) error {
	return vfs.Replace(r.fsys, r.dir, root.RecordLog, func(w io.Writer) error {
		for row, err := range rows {
			if err != nil {
				return err
			}
			if _, err := w.Write(row.AppendTo(nil)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *plainRoot) Release(newEnd uint64) (compact.Release, error) {
	if r.truncate {
		return compact.Truncated, errors.Join(r.arena.Truncate(int64(newEnd)), r.arena.Sync())
	}
	err := r.arena.PunchHole(int64(newEnd), plainCapacity-int64(newEnd))
	if errors.Is(err, vfs.ErrUnsupported) {
		return compact.Unsupported, nil
	}
	return compact.Punched, errors.Join(err, r.arena.Sync())
}

func (r *plainRoot) ReleaseWorth(newEnd uint64) (uint64, error) {
	info, err := r.arena.Stat()
	return uint64(max(info.Allocated-int64(newEnd), 0)), err
}
