package gen

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/record/mark"
)

const (
	// topics is the number of distinct values of Topic.
	topics = 300
	// pinOneIn is how many records there are for each pinned one.
	pinOneIn = 100
	// targets bounds the records that a link may point to, so that memory does
	// not grow with the root. Each record takes the place of a random one, so
	// links point to recent records more often than to old ones.
	targets = 1 << 16
	// firstSecond is the TAI of the first record in seconds. Records follow
	// each other by a millisecond.
	firstSecond = 1_700_000_000
)

// SyntheticOptions say what records to make. The zero value makes none.
type SyntheticOptions struct {
	Records uint64
	MinSize int     // of the data, in bytes
	MaxSize int     // of the data, in bytes, inclusive
	Seed    uint64  // equal options and seeds make equal records
	Links   float64 // the share of records with a link to an earlier one, 0 to 1
	Seals   float64 // the share of records that are sealed, 0 to 1
	NoTopic float64 // the share of records without a Topic, 0 to 1
}

func (o SyntheticOptions) validate() error {
	if o.MinSize < 0 || o.MaxSize < o.MinSize || o.MaxSize > record.MaxDataLen {
		return fmt.Errorf("sizes from %d to %d: want 0 <= min <= max <= %d", o.MinSize, o.MaxSize, record.MaxDataLen)
	}
	for _, share := range []float64{o.Links, o.Seals, o.NoTopic} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("share %v is not between 0 and 1", share)
		}
	}
	return nil
}

// Synthetic is the Source of random records. Each is a Plex, or a Seal around
// one, of random data with these extra headers:
//
//	Epoch  00 to 99: which hundredth of the root it is in, by admission
//	Half   a or b: one of each in every two neighbours, at random
//	Lot    00 to 99: each once in every hundred neighbours, at random
//	Pin    1, on about one record in a hundred
//	Ref    reply <hash of an earlier record>, on the share Links
//	Topic  one of a few hundred values, except on the share NoTopic
//
// So a policy keeps exactly half of an even number of records by Half, and
// exactly any percentage of a multiple of a hundred by Lot, without a pattern
// in the bytes.
type Synthetic struct {
	opts   SyntheticOptions
	bytes  *rand.ChaCha8 // data and the randomness of marks
	rand   *rand.Rand    // everything that is chosen
	signer *mark.Signer
	next   uint64 // records made so far
	half   bool
	lots   []int
	recent []record.Hash
	inner  []byte
	builder
}

// NewSynthetic returns the Source of some options.
func NewSynthetic(opts SyntheticOptions) (*Synthetic, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	derive := func(purpose string) [32]byte {
		return blake3.Sum256(binary.LittleEndian.AppendUint64([]byte(purpose), opts.Seed))
	}
	// A digest is below the group's order but for one in 2^128.
	signer, err := mark.NewSigner(derive("synthetic secret"))
	if err != nil {
		return nil, err
	}
	// One generator for both would leave their order undefined.
	return &Synthetic{
		opts:   opts,
		bytes:  rand.NewChaCha8(derive("synthetic data")),
		rand:   rand.New(rand.NewChaCha8(derive("synthetic choices"))),
		signer: signer,
	}, nil
}

// Next implements Source.
func (s *Synthetic) Next(buf []byte) (record.View, error) {
	if s.next == s.opts.Records {
		return record.View{}, io.EOF
	}
	i := s.next
	s.next++
	headers := s.headers(i)
	size := s.opts.MinSize + s.rand.IntN(s.opts.MaxSize-s.opts.MinSize+1)
	if _, err := s.bytes.Read(s.resize(size)); err != nil {
		return record.View{}, err
	}
	v, err := s.record(buf, record.Coordinates{
		Group: "synthetic", App: "mkroot", Name: "r" + strconv.FormatUint(i, 10),
		TAI: record.FormatTAI(firstSecond+i/1000, uint32(i%1000)*1_000_000),
	}, headers)
	if err != nil {
		return record.View{}, err
	}
	s.remember(v.Hash())
	return v, nil
}

// record builds the record around the data, sealed or not.
func (s *Synthetic) record(buf []byte, c record.Coordinates, headers []record.Header) (record.View, error) {
	if s.rand.Float64() >= s.opts.Seals {
		return s.plex(buf, c, headers)
	}
	plex, err := s.plex(s.inner, c, headers)
	if err != nil {
		return record.View{}, err
	}
	s.inner = plex.Bytes()
	var random [32]byte
	if _, err := s.bytes.Read(random[:]); err != nil {
		return record.View{}, err
	}
	m, err := s.signer.Sign(plex.Hash(), random)
	if err != nil {
		return record.View{}, err
	}
	return record.BuildSeal(buf, plex, s.signer.Key(), m)
}

// headers returns the extra headers of record i, sorted.
func (s *Synthetic) headers(i uint64) []record.Header {
	half := "a"
	if s.flip(i) {
		half = "b"
	}
	if i%100 == 0 {
		s.lots = s.rand.Perm(100)
	}
	headers := []record.Header{
		{Name: "Epoch", Value: twoDigits(i * 100 / s.opts.Records)},
		{Name: "Half", Value: half},
		{Name: "Lot", Value: twoDigits(uint64(s.lots[i%100]))},
	}
	if s.rand.IntN(pinOneIn) == 0 {
		headers = append(headers, record.Header{Name: "Pin", Value: "1"})
	}
	if s.rand.Float64() < s.opts.Links && len(s.recent) > 0 {
		target := s.recent[s.rand.IntN(len(s.recent))]
		headers = append(headers, record.Header{Name: "Ref", Value: "reply " + target.String()})
	}
	// The number is drawn only where it decides, so that records without this
	// share stay the same.
	if s.opts.NoTopic > 0 && s.rand.Float64() < s.opts.NoTopic {
		return headers
	}
	return append(headers, record.Header{Name: "Topic", Value: fmt.Sprintf("topic %d", s.rand.IntN(topics))})
}

// flip tosses a coin for an even record and gives the next the other side.
func (s *Synthetic) flip(i uint64) bool {
	if i%2 == 0 {
		s.half = s.rand.IntN(2) == 0
	} else {
		s.half = !s.half
	}
	return s.half
}

// remember makes a record a possible target of later links.
func (s *Synthetic) remember(h record.Hash) {
	if len(s.recent) < targets {
		s.recent = append(s.recent, h)
		return
	}
	s.recent[s.rand.IntN(targets)] = h
}

func twoDigits(n uint64) string { return string([]byte{'0' + byte(n/10), '0' + byte(n%10)}) }
