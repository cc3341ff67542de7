package node

import (
	"bytes"
	"path/filepath"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// pageBytes is how much of the arena is read at a time by a scan. A longer
// record is read by itself. The seed's pages have 33 MiB, so that no record is
// longer; nothing but speed depends on it.
const pageBytes = 1 << 20

// pages reads records by position. It retains one page, which is only of use to
// reads in the order of ids; any other record is read by itself.
type pages struct {
	dir   string
	arena vfs.File
	table *rowlog.Table

	page []byte // the bytes of whole records
	from uint64 // the offset of the page in the arena
	next store.RecordID
}

// record returns a copy of the bytes of a committed record.
func (p *pages) record(id store.RecordID) ([]byte, error) {
	row := p.table.Row(id)
	inOrder := id == p.next
	p.next = id + 1
	if end := p.from + uint64(len(p.page)); row.Offset >= p.from && row.End() <= end {
		return bytes.Clone(p.page[row.Offset-p.from:][:row.Len]), nil
	}
	if !inOrder || row.Len > pageBytes {
		b := make([]byte, row.Len)
		return b, p.read(b, row.Offset)
	}
	end := row.End()
	for next := id + 1; store.Position(next) <= p.table.Position(); next++ {
		more := p.table.Row(next).End()
		if more-row.Offset > pageBytes {
			break
		}
		end = more
	}
	if p.page == nil {
		p.page = make([]byte, pageBytes)
	}
	p.page, p.from = p.page[:end-row.Offset], row.Offset
	if err := p.read(p.page, row.Offset); err != nil {
		p.page = p.page[:0]
		return nil, err
	}
	return bytes.Clone(p.page[:row.Len]), nil
}

func (p *pages) read(b []byte, offset uint64) error {
	if n, err := p.arena.ReadAt(b, int64(offset)); n < len(b) {
		return root.IOError("read", p.dir, filepath.Join(p.dir, root.Records), err)
	}
	return nil
}
