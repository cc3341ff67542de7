package gen

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store/record"
)

// BlobOptions say what bare Blobs to make.
type BlobOptions struct {
	Records uint64
	MinLen  int    // of the whole record, in bytes
	MaxLen  int    // of the whole record, in bytes, inclusive
	Seed    uint64 // equal options and seeds make equal records
}

// Blobs is the Source of bare Blobs of random data. No policy can tell them
// apart; they are for measuring, where the length of a record must be that of
// its bytes in the arena.
type Blobs struct {
	opts     BlobOptions
	overhead int // bytes of a Blob besides its data and the digits of their length
	bytes    *rand.ChaCha8
	rand     *rand.Rand
	next     uint64
	builder
}

// blobSeedLen is the least data of a record, so that no two are alike, in bytes.
const blobSeedLen = 16

// NewBlobs returns the Source of some options.
func NewBlobs(opts BlobOptions) (*Blobs, error) {
	empty, err := record.BuildBlob(nil, nil)
	if err != nil {
		return nil, err
	}
	overhead := len(empty.Bytes()) - 1 // the one digit of zero
	least := overhead + 2 + blobSeedLen
	if opts.MinLen < least || opts.MaxLen < opts.MinLen || opts.MaxLen > record.MaxDataLen {
		return nil, fmt.Errorf("lengths from %d to %d: want %d <= min <= max <= %d", opts.MinLen, opts.MaxLen, least, record.MaxDataLen)
	}
	derive := func(purpose string) [32]byte {
		return blake3.Sum256(binary.LittleEndian.AppendUint64([]byte(purpose), opts.Seed))
	}
	return &Blobs{
		opts: opts, overhead: overhead,
		bytes: rand.NewChaCha8(derive("blob data")),
		rand:  rand.New(rand.NewChaCha8(derive("blob lengths"))),
	}, nil
}

// Next implements Source.
func (b *Blobs) Next(buf []byte) (record.View, error) {
	if b.next == b.opts.Records {
		return record.View{}, io.EOF
	}
	b.next++
	n := b.dataLen(b.opts.MinLen + b.rand.IntN(b.opts.MaxLen-b.opts.MinLen+1))
	if _, err := b.bytes.Read(b.resize(n)); err != nil {
		return record.View{}, err
	}
	return record.BuildBlob(buf, b.data)
}

// dataLen returns the most data that a record of that length holds. Where one
// more byte of data would take one more digit, the record is a byte shorter.
func (b *Blobs) dataLen(length int) int {
	n := length - b.overhead - 1
	for n+len(strconv.Itoa(n))+b.overhead > length {
		n--
	}
	return n
}
