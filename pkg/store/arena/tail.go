package arena

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Tail is the arena of a root that is being compacted.
type Tail struct {
	Root string // the root directory
	File vfs.File
}

func (t Tail) path() string { return filepath.Join(t.Root, root.Records) }

// Release makes the whole tail behind the new end a durable hole; the capacity
// stays.
func (t Tail) Release(newEnd uint64) (compact.Release, error) {
	info, err := t.File.Stat()
	if err != nil {
		return "", root.Resumable(root.IOError("release", t.Root, t.path(), err), t.Root)
	}
	if uint64(info.Size) < newEnd {
		return "", root.Corrupt(t.Root, t.path(), "length", fmt.Sprintf("%d bytes", info.Size), fmt.Sprintf("at least %d", newEnd))
	}
	how := compact.Punched
	err = t.File.PunchHole(int64(newEnd), info.Size-int64(newEnd))
	if errors.Is(err, vfs.ErrUnsupported) {
		how, err = compact.Unsupported, nil
	}
	if err == nil {
		// Without this, the plan that would punch again could be gone while
		// the hole is not on the disk: nothing is lost, but nothing is freed.
		err = t.File.Sync()
	}
	if err != nil {
		return "", root.Resumable(root.IOError("release the tail of", t.Root, t.path(), err), t.Root)
	}
	return how, nil
}

// ReleaseWorth is how many bytes of storage lie behind the new end, as far as
// the system tells.
func (t Tail) ReleaseWorth(newEnd uint64) (uint64, error) {
	info, err := t.File.Stat()
	if err != nil {
		return 0, root.IOError("measure", t.Root, t.path(), err)
	}
	used := uint64(max(info.Allocated, 0))
	return used - min(used, newEnd), nil
}

// RowAt proves the record that begins at an offset of an arena, and returns
// its row. Bytes that are none are a record.FormatError.
func RowAt(arena io.ReaderAt, offset, capacity uint64) (rowlog.Row, error) {
	item, err := record.NewScanner(io.NewSectionReader(arena, int64(offset), int64(capacity-offset))).Next()
	if err != nil {
		return rowlog.Row{}, err
	}
	row := rowlog.Row{Hash: item.Hash(), Offset: offset, Len: uint64(item.Len())}
	_, err = item.WriteTo(io.Discard)
	return row, err
}

// RefuseUnlisted refuses a root in which a whole record, proven by its digests,
// lies right behind the end of the rows. An admission that was interrupted
// leaves that, but so do rows that were lost, and a compaction would release
// the bytes of every record that those rows named. rows is what has them.
func RefuseUnlisted(arena io.ReaderAt, dir, rows string, end, capacity uint64) error {
	if end >= capacity {
		return nil
	}
	path := filepath.Join(dir, root.Records)
	row, err := RowAt(arena, end, capacity)
	var form *record.FormatError
	if errors.As(err, &form) {
		return nil // residue that is no record
	}
	if err != nil {
		return root.IOError("look behind the end of", dir, path, err)
	}
	return &store.Error{
		Kind: store.Guarded, Doing: "compact", Root: dir, Path: path,
		Where: fmt.Sprintf("offset %d", end), Hash: row.Hash,
		Found: "a whole record lies behind the end of " + rows + ": an admission was interrupted, or " + rows + " lost rows",
		Hint:  "nothing was changed; when " + rows + " is as it should be, say --discard-unlisted",
	}
}
