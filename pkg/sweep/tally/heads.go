package tally

import (
	"errors"
	"io"
	"iter"
	"runtime"
	"sync"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// source is a store whose records can be read by several goroutines at a time,
// in the ranges that its rows give. A mapping would cost a page fault for every
// few records, and keep all of them resident.
type source interface {
	Rows(through store.Position) (rowlog.Rows, error)
	Row(id store.RecordID) (rowlog.Row, error)
	Arena() io.ReaderAt
}

// Sizes of the reads of heads, in bytes, and of what is read by one goroutine at
// a time, in records.
const (
	partRecords = 1 << 10
	windowBytes = 1 << 20
	longRecord  = 1 << 15 // from this length on only the head is read
	headBytes   = 1 << 12 // of a long record; if it has more, it is read as a whole
)

// part is consecutive records that one goroutine counts. Parts are used over and
// over.
type part struct {
	first  store.RecordID
	ranges []rowlog.Range
}

// countHeads counts where nothing but the heads of the records is asked for. It
// is Count in other words, and comes to the same.
func countHeads(src source, c *counter) (*Report, error) {
	rows, err := src.Rows(c.set.Boundary())
	if err != nil {
		return nil, err
	}
	p := newParts(src.Arena(), c)
	err = p.handOut(rows)
	p.group.Wait()
	if p.first != nil { // of an earlier record than what ended the rows
		return nil, headError(src, p.at, p.first)
	}
	if err != nil {
		return nil, err
	}
	return c.report(), nil
}

// parts hands rows out to goroutines that count their records.
type parts struct {
	counter *counter
	full    chan *part
	free    chan *part
	group   sync.WaitGroup

	mu    sync.Mutex
	first error // that of the first record that has one
	at    store.RecordID
}

func newParts(arena io.ReaderAt, c *counter) *parts {
	workers := runtime.GOMAXPROCS(0)
	// One more part for each than it counts: it is being filled meanwhile.
	p := &parts{counter: c, full: make(chan *part, workers), free: make(chan *part, 2*workers)}
	for range cap(p.free) {
		p.free <- &part{ranges: make([]rowlog.Range, 0, partRecords)}
	}
	for range workers {
		p.group.Go(func() { p.work(arena) })
	}
	return p
}

// handOut gives every row to a goroutine, until one has failed. What was handed
// out is counted to its end, so that the error is that of the first record that
// has one.
func (p *parts) handOut(rows rowlog.Rows) error {
	defer close(p.full)
	next := <-p.free
	id := store.RecordID(1)
	for at, err := range rangesOf(rows) {
		if err != nil {
			return err
		}
		if len(next.ranges) == 0 {
			if err := p.step(id); err != nil || p.failed() {
				return err
			}
			next.first = id
		}
		next.ranges = append(next.ranges, at)
		id++
		if len(next.ranges) == partRecords {
			p.full <- next
			next = <-p.free
		}
	}
	p.full <- next
	return nil
}

// rangesOf yields the ranges of rows, without their hashes where the rows can.
func rangesOf(rows rowlog.Rows) iter.Seq2[rowlog.Range, error] {
	return func(yield func(rowlog.Range, error) bool) {
		if known, ok := rows.(rowlog.Ranged); ok {
			for at := range known.Ranges() {
				if !yield(at, nil) {
					return
				}
			}
			return
		}
		for row, err := range rows.All() {
			if !yield(rowlog.Range{Offset: row.Offset, Len: row.Len}, err) {
				return
			}
		}
	}
}

func (p *parts) step(next store.RecordID) error {
	if p.counter.o.Step == nil {
		return nil
	}
	return p.counter.o.Step(store.Position(next - 1))
}

func (p *parts) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first != nil
}

// work counts parts, and adds what it counted to the whole at the end.
func (p *parts) work(arena io.ReaderAt) {
	c := newCounter(p.counter.set, p.counter.o)
	r := headReader{arena: arena}
	for next := range p.full {
		if id, err := c.heads(&r, next); err != nil {
			p.mu.Lock()
			if p.first == nil || id < p.at {
				p.first, p.at = err, id
			}
			p.mu.Unlock()
		}
		next.ranges = next.ranges[:0]
		p.free <- next
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counter.join(c)
}

// heads counts the records of a part up to the first that is none.
func (c *counter) heads(r *headReader, p *part) (store.RecordID, error) {
	for i, at := range p.ranges {
		id := p.first + store.RecordID(i)
		dataLen, err := r.dataLen(p.ranges[i:])
		if err != nil {
			return id, err
		}
		c.add(id, Total{1, at.Len, dataLen})
	}
	return 0, nil
}

// join adds what another counter has counted.
func (c *counter) join(other *counter) {
	c.all.add(other.all)
	for i, m := range other.modules {
		c.modules[i].Retained.add(m.Retained)
		c.modules[i].Only.add(m.Only)
	}
}

// headError tells a record that is none from one that cannot be read.
func headError(src source, id store.RecordID, err error) error {
	row, unknown := src.Row(id)
	if unknown != nil {
		return errors.Join(err, unknown)
	}
	kind := store.Store
	var form *record.FormatError
	if errors.As(err, &form) {
		kind = store.CorruptStore
	}
	return &store.Error{Kind: kind, Doing: "tally", ID: id, Hash: row.Hash, Err: err}
}

// headReader reads records through one window, short ones that lie one behind
// the other at once.
type headReader struct {
	arena  io.ReaderAt
	buf    []byte
	window []byte // the bytes [start, start+len(window)) of the arena
	start  uint64
}

// dataLen returns the length of the data of the first of some records that lie one
// behind the other.
func (r *headReader) dataLen(records []rowlog.Range) (uint64, error) {
	at := records[0]
	if at.Len >= longRecord {
		return r.longDataLen(at)
	}
	if at.Offset < r.start || at.End() > r.start+uint64(len(r.window)) {
		if err := r.fill(at.Offset, span(records)); err != nil {
			return 0, err
		}
	}
	b := r.window[at.Offset-r.start:]
	view, err := record.ParsePrefix(b[:min(at.Len, uint64(len(b)))], int64(at.Len))
	return uint64(view.DataLen()), err
}

// longDataLen is dataLen of a long record. No more is read than the longest
// record has, whatever its row says.
func (r *headReader) longDataLen(at rowlog.Range) (n uint64, err error) {
	for _, try := range []uint64{headBytes, min(at.Len, record.MaxRecordLen)} {
		if err := r.fill(at.Offset, try); err != nil {
			return 0, err
		}
		var view record.View
		if view, err = record.ParsePrefix(r.window, int64(at.Len)); err == nil {
			return uint64(view.DataLen()), nil
		}
	}
	return 0, err
}

// span returns how many bytes to read for the first of some records: short records
// behind it come along.
func span(records []rowlog.Range) uint64 {
	n := records[0].Len
	for _, at := range records[1:] {
		end := at.End() - records[0].Offset
		if at.Len >= longRecord || end > windowBytes {
			break
		}
		n = end
	}
	return n
}

// fill reads n bytes from an offset on, or as many as there are.
func (r *headReader) fill(offset, n uint64) error {
	if uint64(len(r.buf)) < n {
		r.buf = make([]byte, max(n, windowBytes))
	}
	r.window = nil // it must not be believed after a failed read
	got, err := r.arena.ReadAt(r.buf[:n], int64(offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r.start, r.window = offset, r.buf[:got]
	return nil
}
