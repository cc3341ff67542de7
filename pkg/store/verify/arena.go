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

// aheadBytes is how much the disk is asked for in front of what is read, when
// all records are.
const aheadBytes = 8 << 20

// readAheader is an arena that takes advice about what is read next.
type readAheader interface{ ReadAhead(off, n int64) }

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

// flush has the gathered piece read and checked. Who checks it reads it, so that
// its bytes are in the caches of that processor; one piece is read at a time, in
// the order of the arena.
func (r *run) flush() {
	p := r.piece
	if len(p.records) == 0 {
		return
	}
	r.readAhead(p.end)
	r.reading.Lock()
	r.group.Go(func() error {
		p.read(r.arena)
		r.reading.Unlock()
		r.check(p)
		r.checked(p.end - p.offset)
		p.records = p.records[:0]
		r.free <- p
		return nil
	})
	r.piece = <-r.free
}

// readAhead asks for what follows an offset.
func (r *run) readAhead(from uint64) {
	arena, ok := r.arena.(readAheader)
	all := r.opts.Subset == Subset{} && r.opts.Sample == Sample{}
	if !ok || !all || from+aheadBytes/2 <= r.ahead {
		return
	}
	from = max(from, r.ahead)
	if to := min(from+aheadBytes, r.total); from < to {
		arena.ReadAhead(int64(from), int64(to-from))
		r.ahead = to
	}
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
		return v.CheckBytes(b, want)
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
