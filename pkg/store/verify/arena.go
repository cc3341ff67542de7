package verify

import (
	"errors"
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/record/mark"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// spanBytes is how many bytes are read at a time; a longer record is read
// alone, and none is longer than record.MaxRecordLen.
const spanBytes = 1 << 20

// piece is a run of records that lie one behind the other in [offset, end),
// and what is needed to check them. Pieces are used over and over.
type piece struct {
	records     []placed
	offset, end uint64
	buf         []byte
	verifier    *record.Verifier
}

type placed struct {
	id         store.RecordID
	row        rowlog.Row
	unreadable error
}

// add puts a record into the piece that is being gathered.
func (r *run) add(id store.RecordID, row rowlog.Row) {
	if p := r.piece; len(p.records) > 0 && (row.Offset != p.end || row.End()-p.offset > spanBytes) {
		r.flush()
	}
	p := r.piece
	if len(p.records) == 0 {
		p.offset = row.Offset
	}
	p.records = append(p.records, placed{id: id, row: row})
	p.end = row.End()
}

// flush reads the gathered piece and has it checked.
func (r *run) flush() {
	p := r.piece
	if len(p.records) == 0 {
		return
	}
	p.read(r.arena) // here, so that reading follows the order of the arena
	r.group.Go(func() error {
		r.check(p)
		r.checked(p.end - p.offset)
		p.records = p.records[:0]
		r.free <- p
		return nil
	})
	r.piece = <-r.free
}

// read fills buf. When the piece cannot be read as a whole, its records are
// read one by one, so that one bad sector costs one record.
func (p *piece) read(arena io.ReaderAt) {
	n := p.end - p.offset
	if uint64(cap(p.buf)) < n {
		p.buf = make([]byte, max(n, spanBytes))
	}
	p.buf = p.buf[:n]
	if readFull(arena, p.buf, p.offset) == nil {
		return
	}
	for i := range p.records {
		rec := &p.records[i]
		rec.unreadable = readFull(arena, p.bytes(rec), rec.row.Offset)
	}
}

func (p *piece) bytes(rec *placed) []byte {
	return p.buf[rec.row.Offset-p.offset:][:rec.row.Len]
}

func readFull(arena io.ReaderAt, buf []byte, offset uint64) error {
	n, err := arena.ReadAt(buf, int64(offset))
	if n == len(buf) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *run) check(p *piece) {
	for i := range p.records {
		rec := &p.records[i]
		err := rec.unreadable
		if err != nil {
			err = fmt.Errorf("cannot be read: %w", err)
		} else {
			err = checkRecord(p.verifier, p.bytes(rec), rec.row.Hash, r.opts.Level)
		}
		if err != nil {
			r.bad(Bad{rec.id, rec.row.Hash, rec.row.Offset, err.Error()})
		}
	}
}

// checkRecord checks one whole record at the level Hashes or Seals.
func checkRecord(v *record.Verifier, b []byte, want record.Hash, level Level) error {
	if err := rowlog.JudgeGlyph(b, want); err != nil {
		return err
	}
	if level == Hashes {
		v.Reset(want)
		v.Write(b) // it never fails
		return v.Check()
	}
	view, err := record.ParseStrict(b) // it checks every digest
	if err != nil {
		return err
	}
	if want.Kind() == record.Seal {
		return mark.VerifySeal(view)
	}
	return nil
}
