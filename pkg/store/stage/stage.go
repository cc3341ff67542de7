// Package stage receives one record before its admission: it bounds the length,
// proves the typed hash and holds the bytes. The profiles share it. It must not
// know where a profile keeps what it receives.
package stage

import (
	"bytes"
	"fmt"
	"io"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
)

// Check refuses to stage for a read-only opening of the root dir, and a record
// of more bytes than one can have.
func Check(dir string, readOnly bool, want record.Hash, length uint64) error {
	if readOnly {
		return &store.Error{Kind: store.Integration, Doing: "stage", Root: dir, Found: "a read-only opening"}
	}
	if length > record.MaxRecordLen {
		return &store.Error{
			Kind: store.Integration, Doing: "stage", Root: dir, Hash: want,
			Found: fmt.Sprintf("%d bytes", length), Want: fmt.Sprintf("at most the %d of the longest record", record.MaxRecordLen),
		}
	}
	return nil
}

// Receive copies the length bytes of one record from r to w and proves their
// typed hash. path is where they go to, for errors.
func Receive(dir, path string, w io.Writer, want record.Hash, length uint64, r io.Reader) error {
	v := record.NewVerifier(want)
	n, err := io.CopyN(io.MultiWriter(w, v), r, int64(length))
	if err != nil {
		return root.IOError("stage", dir, path, fmt.Errorf("after %d of %d bytes: %w", n, length, err))
	}
	if err := v.Check(); err != nil {
		return &store.Error{Kind: store.Integration, Doing: "stage", Root: dir, Hash: want, Err: err}
	}
	return nil
}

// InMemory receives a record into memory.
func InMemory(dir string, want record.Hash, length uint64, r io.Reader) (profile.Staged, error) {
	var body bytes.Buffer // it grows with what really comes
	if err := Receive(dir, dir, &body, want, length, r); err != nil {
		return nil, err
	}
	return inMemory{store.NewRecord{Hash: want, Len: length, Body: bytes.NewReader(body.Bytes())}}, nil
}

// inMemory is a received record in memory.
type inMemory struct{ record store.NewRecord }

func (t inMemory) Record() store.NewRecord { return t.record }
func (t inMemory) Release() error          { return nil }
