package native

import (
	"errors"

	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Truth is record-log and records of an owned root, open for reading by
// position. It is what maintenance looks at that goes on where an ordinary
// opening stops; the root may hold files of an interrupted compaction.
type Truth struct {
	Log      vfs.File
	LogSize  int64 // in bytes, an incomplete last row included
	Arena    vfs.File
	Capacity uint64 // the length of records, in bytes
	// CapacityProblem says why Capacity is none that a root can have.
	CapacityProblem error
}

// OpenTruth opens the truth of the root. A file that is missing is NotRoot or
// CorruptStore, as for an ordinary opening.
func (o *Ownership) OpenTruth() (t *Truth, err error) {
	if err := o.requireTruth(); err != nil {
		return nil, err
	}
	t = &Truth{}
	defer func() {
		if err != nil {
			t, err = nil, errors.Join(err, t.Close())
		}
	}()
	if t.Log, t.LogSize, err = o.openTruthFile(root.RecordLog); err != nil {
		return t, err
	}
	var size int64
	if t.Arena, size, err = o.openTruthFile(root.Records); err != nil {
		return t, err
	}
	t.Capacity = uint64(size)
	t.CapacityProblem = arena.CheckCapacity(t.Capacity)
	return t, nil
}

func (o *Ownership) openTruthFile(name string) (vfs.File, int64, error) {
	f, err := o.fs.OpenFile(o.path(name), vfs.ReadOnly)
	if err != nil {
		return nil, 0, root.IOError("open", o.dir, o.path(name), err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(root.IOError("open", o.dir, o.path(name), err), f.Close())
	}
	return f, info.Size, nil
}

// Close closes both files.
func (t *Truth) Close() error {
	var err error
	for _, f := range []vfs.File{t.Log, t.Arena} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}
