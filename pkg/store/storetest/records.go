package storetest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
)

// Header is one extra header of a Plex.
type Header struct{ Name, Value string }

// Record is a valid record to admit.
type Record struct {
	Hash  record.Hash
	Bytes []byte
}

// New returns the record as an input of StoreRecords.
func (r Record) New() store.NewRecord {
	return store.NewRecord{Hash: r.Hash, Len: uint64(len(r.Bytes)), Body: bytes.NewReader(r.Bytes)}
}

// Blob returns the Blob of some data.
func Blob(data string) Record {
	return seal(record.Blob, fmt.Appendf(nil, "Data-Length: %d\n\n%s", len(data), data))
}

// Plex returns a Plex of that name over a Blob of its name, with extra
// headers. Headers of one name keep their order.
func Plex(name string, headers ...Header) Record {
	headers = slices.Clone(headers)
	slices.SortStableFunc(headers, func(a, b Header) int { return cmp.Compare(a.Name, b.Name) })
	body := fmt.Appendf(nil, "Group: g\nApp: storetest\nName: %s\nTAI: 1700000000:000000000\n", name)
	for _, h := range headers {
		body = fmt.Appendf(body, "%s: %s\n", h.Name, h.Value)
	}
	return seal(record.Plex, append(body, Blob("data of "+name).Bytes...))
}

func seal(kind record.Kind, payload []byte) Record {
	h := record.MakeHash(kind, blake3.Sum256(payload))
	return Record{Hash: h, Bytes: append(record.AppendGlyphLine(nil, h), payload...)}
}

// Absent returns the hash of a record that no test admits.
func Absent(n int) record.Hash {
	return record.MakeHash(record.Blob, blake3.Sum256(fmt.Appendf(nil, "absent %d", n)))
}

// admission returns the operation that admits recs.
func admission(recs ...Record) store.StoreRecords {
	op := store.StoreRecords{Records: make([]store.NewRecord, len(recs))}
	for i, r := range recs {
		op.Records[i] = r.New()
	}
	return op
}
