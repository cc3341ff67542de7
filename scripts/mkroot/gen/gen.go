// Package gen makes the records of example roots: the history of a repository
// from its table, and synthetic records by seed. It must not know how a root
// is stored, so that tests and benchmarks can use it without one.
package gen

import (
	"github.com/lace-store/lace/pkg/store/record"
)

// Source yields records in the order of their admission.
type Source interface {
	// Next returns the next record, built in buf[:0] when the capacity of buf
	// is enough. The error is io.EOF behind the last record.
	Next(buf []byte) (record.View, error)
}

// builder builds Plex records from data and reuses its memory.
type builder struct {
	data []byte
	blob []byte
}

// resize returns the data buffer with a length of n bytes.
func (b *builder) resize(n int) []byte {
	if cap(b.data) < n {
		b.data = make([]byte, n, n+n/4)
	}
	b.data = b.data[:n]
	return b.data
}

// plex builds the Plex around the data in b.data.
func (b *builder) plex(buf []byte, c record.Coordinates, extra []record.Header) (record.View, error) {
	blob, err := record.BuildBlob(b.blob, b.data)
	if err != nil {
		return record.View{}, err
	}
	b.blob = blob.Bytes()
	return record.BuildPlex(buf, c, extra, blob)
}
