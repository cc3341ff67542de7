package storetest

import (
	"bytes"
	"fmt"

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
func Blob(data string) Record { return built(blob(data)) }

// Plex returns a Plex of that name over a Blob of its name, with extra
// headers. Headers of one name keep their order. What is no valid Plex is a
// bug of the test and panics.
func Plex(name string, headers ...Header) Record {
	at := record.Coordinates{Group: "g", App: "storetest", Name: name, TAI: record.FormatTAI(1_700_000_000, 0)}
	extra := make([]record.Header, len(headers))
	for i, h := range headers {
		extra[i] = record.Header(h)
	}
	return built(must(record.BuildPlex(nil, at, extra, blob("data of "+name))))
}

func blob(data string) record.View { return must(record.BuildBlob(nil, []byte(data))) }

func built(v record.View) Record { return Record{Hash: v.Hash(), Bytes: v.Bytes()} }

func must(v record.View, err error) record.View {
	if err != nil {
		panic("storetest: " + err.Error())
	}
	return v
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
