package sweeptest_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/memory"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/storetest"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

// backendKind is a store that a case runs against.
type backendKind string

const (
	inMemory backendKind = "memory"
	linear   backendKind = "linear"
	onDisk   backendKind = "native"
)

// pickBackend is mostly the store in memory, which is made at once.
func pickBackend(rng *rand.Rand) backendKind {
	switch rng.IntN(16) {
	case 0:
		return onDisk
	case 1, 2:
		return linear
	}
	return inMemory
}

// open returns a store that holds the records of a root.
func open(t testing.TB, kind backendKind, root *sweeptest.Root) store.Backend {
	t.Helper()
	var b store.Backend
	switch kind {
	case inMemory:
		b = memory.New()
	case linear:
		b = &storetest.Linear{}
	case onDisk:
		// A file system in memory.
		s, err := native.Create(t.Context(), filepath.FromSlash("/root"), native.Options{
			FS: crashfs.New(crashfs.Options{ReleaseAtOnce: true}), Capacity: 1 << 20,
		})
		if err != nil {
			t.Fatal(err)
		}
		b = s
	}
	var op store.StoreRecords
	for _, rec := range root.Records {
		h, err := record.ParseGlyphLine(rec)
		if err != nil {
			t.Fatal(err)
		}
		op.Records = append(op.Records, store.NewRecord{Hash: h, Len: uint64(len(rec)), Body: bytes.NewReader(rec)})
	}
	if _, err := b.Execute(op); err != nil {
		t.Fatal(err)
	}
	return b
}
