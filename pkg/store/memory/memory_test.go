package memory

import (
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/storetest"
)

// capabilities are those of a store whose rows can be lost from inside.
func capabilities() storetest.Capabilities {
	return storetest.Capabilities{
		LoseRow: func(_ *testing.T, b store.Backend, id store.RecordID) {
			b.(*Store).rows.records[id-1] = store.Record{}
		},
		Visited: func(b store.Backend) uint64 { return b.(*Store).CandidatesVisited() },
	}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Backend { return New() }, capabilities())
}

// Without memory no list survives its scan, so that everything is answered by
// the fallback.
func TestConformanceWithoutMemoryForLists(t *testing.T) {
	caps := capabilities()
	caps.Visited = nil
	storetest.Run(t, func(*testing.T) store.Backend {
		return NewWithLists(index.Options{MemoryBytes: 1})
	}, caps)
}

// With room for a few lists they come and go all the time.
func TestConformanceWithLittleMemoryForLists(t *testing.T) {
	caps := capabilities()
	caps.Visited = nil
	storetest.Run(t, func(*testing.T) store.Backend {
		return NewWithLists(index.Options{MemoryBytes: 200, Keys: 5})
	}, caps)
}
