package arena

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// copyBytes is the size of the buffer that admission copies records through.
const copyBytes = 1 << 20

// Writer copies records into the arena of a root.
type Writer struct {
	Dir      string
	File     vfs.File
	Capacity uint64
	buf      []byte
}

// CheckNew refuses the i-th input of an admission that is none, or that the
// arena has no room for.
func (w *Writer) CheckNew(row rowlog.Row, r store.NewRecord, i int) error {
	if _, err := record.ParseHash(r.Hash[:]); err != nil || r.Body == nil || row.Validate() != nil || r.Len > record.MaxRecordLen {
		return &store.Error{
			Kind: store.Integration, Doing: "admit", Root: w.Dir, Where: fmt.Sprintf("input %d", i),
			Found: fmt.Sprintf("a record of %d bytes under hash %q", r.Len, r.Hash[:]), Want: "a validated record", Err: err,
		}
	}
	if row.End() > w.Capacity {
		return &store.Error{
			Kind: store.LimitExceeded, Doing: "admit", Root: w.Dir, Where: fmt.Sprintf("input %d", i), Hash: r.Hash,
			Found: fmt.Sprintf("an end at byte %d", row.End()), Want: fmt.Sprintf("at most the capacity of %d bytes", w.Capacity),
		}
	}
	return nil
}

// Copy copies one record in pieces. The glyph line is looked at on the way,
// because a record under another hash could not be opened again. Nothing is
// durable yet, and nothing names the bytes: after a failure they are residue.
func (w *Writer) Copy(row rowlog.Row, r store.NewRecord) error {
	if w.buf == nil {
		w.buf = make([]byte, copyBytes)
	}
	for done := uint64(0); done < row.Len; {
		piece := w.buf[:min(uint64(len(w.buf)), row.Len-done)]
		n, err := r.Body.ReadAt(piece, int64(done))
		if n < len(piece) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return &store.Error{Kind: store.Store, Doing: "read the body of", Root: w.Dir, Hash: r.Hash, Err: err}
		}
		if done == 0 {
			if err := rowlog.JudgeGlyph(piece, r.Hash); err != nil {
				return &store.Error{Kind: store.Integration, Doing: "admit", Root: w.Dir, Hash: r.Hash, Want: "its own glyph line", Err: err}
			}
		}
		if _, err := w.File.WriteAt(piece, int64(row.Offset+done)); err != nil {
			return root.IOError("write", w.Dir, filepath.Join(w.Dir, root.Records), err)
		}
		done += uint64(len(piece))
	}
	return nil
}
