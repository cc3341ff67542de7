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

// Batch is what an admission adds, and what it answers.
type Batch struct {
	Outcomes []store.StoreOutcome
	Rows     []rowlog.Row
	sources  []store.NewRecord // of Rows
}

// Classify finds what the root or the batch itself has already, and gives
// contiguous ids and ranges behind the position and the committed end to the
// rest. lookup finds a record of the root by its hash; zero is none.
func (w *Writer) Classify(pos store.Position, end uint64, lookup func(record.Hash) (store.RecordID, error), records []store.NewRecord) (Batch, error) {
	b := Batch{Outcomes: make([]store.StoreOutcome, len(records))}
	ids := make(map[record.Hash]store.RecordID)
	for i, r := range records {
		id, known := ids[r.Hash]
		if !known {
			var err error
			if id, err = lookup(r.Hash); err != nil {
				return Batch{}, err
			}
			known = id != 0
		}
		if known {
			b.Outcomes[i] = store.StoreOutcome{ID: id, Duplicate: true}
			continue
		}
		row := rowlog.Row{Hash: r.Hash, Offset: end, Len: r.Len}
		if err := w.CheckNew(row, r, i); err != nil {
			return Batch{}, err
		}
		id = store.RecordID(uint64(pos) + uint64(len(b.Rows)) + 1)
		ids[r.Hash] = id
		b.Outcomes[i] = store.StoreOutcome{ID: id}
		b.Rows, b.sources = append(b.Rows, row), append(b.sources, r)
		end = row.End()
	}
	return b, nil
}

// CopyAll copies the records of a batch. Nothing is durable yet, and nothing
// names the bytes: after a failure they are residue.
func (w *Writer) CopyAll(b Batch) error {
	for i, row := range b.Rows {
		if err := w.Copy(row, b.sources[i]); err != nil {
			return err
		}
	}
	return nil
}

// Sync makes what was copied durable. Without it, a power cut could leave rows
// that name bytes which never reached the disk. A store whose sync failed may
// not be used any more.
func (w *Writer) Sync() error {
	if err := w.File.Sync(); err != nil {
		return root.IOError("sync", w.Dir, filepath.Join(w.Dir, root.Records), err)
	}
	return nil
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
