package compacttest

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
)

// Shape is a small root, what stays of it, and how it is compacted. It is
// drawn from its seed.
type Shape struct {
	Seed    uint64
	Records [][]byte
	Kept    []bool
	Journal uint64 // J, in bytes
	FS      crashfs.Options

	rows           []rowlog.Row
	oldLog, newLog []byte
	oldArena       []byte
	newArena       []byte
	digest         [32]byte // of the kept set
}

// NewShape draws a shape that removes at least one record.
func NewShape(seed uint64) *Shape {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &Shape{Seed: seed}
	s.FS = crashfs.Options{
		NoPunch: r.IntN(8) == 0, OrderedEntries: r.IntN(3) == 0, IgnoreDropCache: r.IntN(2) == 0, ReleaseAtOnce: true,
	}
	most := []int{1, 3, 6, 9}[r.IntN(4)]
	biggest := []int{40, 700, 2500}[r.IntN(3)]
	stay := r.Float64()
	for i := range 1 + r.IntN(most) {
		s.Records = append(s.Records, blob(r, i, biggest))
		s.Kept = append(s.Kept, r.Float64() < stay)
	}
	s.Kept[r.IntN(len(s.Kept))] = false
	s.expect()
	longest, sum := 0, 0
	for i, rec := range s.Records {
		if s.Kept[i] {
			longest, sum = max(longest, len(rec)), sum+len(rec)
		}
	}
	// From one record a batch to all of them in one.
	s.Journal = uint64(max(1, longest) + r.IntN(sum-longest+64))
	return s
}

func blob(r *rand.Rand, i, biggest int) []byte {
	data := make([]byte, r.IntN(biggest))
	for k := range data {
		data[k] = byte(r.Uint32())
	}
	v, err := record.BuildBlob(nil, fmt.Appendf(data, "#%d", i))
	if err != nil {
		panic("compacttest: a blob of a few bytes: " + err.Error())
	}
	return v.Bytes()
}

// Scripted is a shape of chosen records: data lengths in bytes, which stay
// ('k'), and J.
func Scripted(lengths []int, stays string, journal uint64) *Shape {
	s := &Shape{Journal: journal}
	for i, n := range lengths {
		v, err := record.BuildBlob(nil, bytes.Repeat([]byte{'a' + byte(i)}, n))
		if err != nil {
			panic("compacttest: a blob of a few bytes: " + err.Error())
		}
		s.Records = append(s.Records, v.Bytes())
		s.Kept = append(s.Kept, stays[i] == 'k')
	}
	s.expect()
	return s
}

// expect works out both roots from the records, without the code under test.
func (s *Shape) expect() {
	for i, rec := range s.Records {
		h, err := record.ParseGlyphLine(rec)
		if err != nil {
			panic("compacttest: a blob without a glyph line: " + err.Error())
		}
		row := rowlog.Row{Hash: h, Offset: uint64(len(s.oldArena)), Len: uint64(len(rec))}
		s.rows = append(s.rows, row)
		s.oldLog, s.oldArena = row.AppendTo(s.oldLog), append(s.oldArena, rec...)
		if s.Kept[i] {
			row.Offset = uint64(len(s.newArena))
			s.newLog, s.newArena = row.AppendTo(s.newLog), append(s.newArena, rec...)
		}
	}
}

// Set is the kept set of the shape.
func (s *Shape) Set() *kept.Set {
	set := kept.New(store.Position(len(s.Kept)))
	for i, stays := range s.Kept {
		if stays {
			set.Add(rowlog.ID(uint64(i)))
		}
	}
	return set
}

// Settings are how the n-th run of a history compacts. Buffers and cuts change
// from run to run, as they may with other versions of the program.
func (s *Shape) Settings(n int) Settings {
	r := rand.New(rand.NewPCG(s.Seed, uint64(n)+2))
	return Settings{Journal: s.Journal, Run: compact.Options{
		Buffer:   []int{64, 300, 1024, 1 << 16}[r.IntN(4)],
		WorthGap: []uint64{1, uint64(1 + r.IntN(3000)), 1 << 40}[r.IntN(3)],
	}}
}

// wantedDigest is what a report says of the set.
func (s *Shape) wantedDigest() [32]byte {
	if s.digest == ([32]byte{}) {
		s.digest = s.Set().Digest(blake3.Sum256(s.oldLog))
	}
	return s.digest
}

func (s *Shape) isOld(log []byte) bool { return bytes.Equal(log, s.oldLog) }
func (s *Shape) isNew(log []byte) bool { return bytes.Equal(log, s.newLog) }
