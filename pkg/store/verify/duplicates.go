package verify

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// shelves is how many parts the fingerprints are kept in, so that each is
// sorted inside the processor's cache.
const shelves = 1 << 8

// prints has a fingerprint of 8 bytes for every row that could be decoded: the
// index of the row in the low bits, a part of its hash above them. Rows of one
// hash come to lie together when they are sorted. The hashes themselves are
// read again only where fingerprints are equal.
type prints struct {
	rows    uint64 // of the log; no index is greater
	shelves [shelves][]uint64
}

// indexBits is how many low bits of a fingerprint are the index.
func (p *prints) indexBits() int { return bits.Len64(p.rows) }

func (p *prints) add(h record.Hash, index uint64) {
	const odd = 0x9e3779b97f4a7c15
	a, b := binary.LittleEndian.Uint64(h[2:]), binary.LittleEndian.Uint64(h[10:])
	// The shelf is chosen by other bits than those that the fingerprint keeps.
	x := (a*odd ^ a>>29 + b) * odd
	x ^= x >> 32
	shelf := &p.shelves[x%shelves]
	n := p.indexBits()
	*shelf = append(*shelf, (x*odd)>>n<<n|index)
}

// equal calls same with the indexes of rows whose fingerprints are equal, in
// order, after sorting them on so many processors.
func (p *prints) equal(jobs int, same func(indexes []uint64) error) error {
	var sorting errgroup.Group
	sorting.SetLimit(jobs)
	for i := range p.shelves {
		sorting.Go(func() error {
			slices.Sort(p.shelves[i])
			return nil
		})
	}
	if err := sorting.Wait(); err != nil {
		return err
	}
	n := p.indexBits()
	for _, shelf := range p.shelves {
		for lo := 0; lo < len(shelf); {
			hi := lo + 1
			for hi < len(shelf) && shelf[hi]>>n == shelf[lo]>>n {
				hi++
			}
			if hi-lo > 1 {
				indexes := slices.Clone(shelf[lo:hi])
				for i := range indexes {
					indexes[i] &= 1<<n - 1
				}
				if err := same(indexes); err != nil {
					return err
				}
			}
			lo = hi
		}
	}
	return nil
}

// findDuplicates compares the hashes of all rows that could be decoded. Equal
// fingerprints are settled by reading the rows again.
func (r *run) findDuplicates(log io.ReaderAt) error {
	return r.prints.equal(r.opts.jobs(), func(indexes []uint64) error { return r.settle(log, indexes) })
}

func (r *run) settle(log io.ReaderAt, indexes []uint64) error {
	first := make(map[record.Hash]store.RecordID, len(indexes))
	buf := make([]byte, rowlog.RowLen)
	for _, index := range indexes {
		if n, err := log.ReadAt(buf, int64(index*rowlog.RowLen)); n < len(buf) {
			return err
		}
		row, err := rowlog.Decode(buf)
		if err != nil {
			return fmt.Errorf("row %d has changed: %w", index, err)
		}
		id := rowlog.ID(index)
		if earlier, ok := first[row.Hash]; ok {
			r.bad(Bad{id, row.Hash, row.Offset, fmt.Sprintf("row: repeats the hash of record #%d", earlier)})
			continue
		}
		first[row.Hash] = id
	}
	return nil
}
