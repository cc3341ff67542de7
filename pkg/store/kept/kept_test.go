package kept_test

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
)

func TestSetAgreesWithMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		boundary := rapid.Uint64Range(0, 300).Draw(t, "boundary")
		set, want := kept.New(store.Position(boundary)), map[store.RecordID]bool{}
		if boundary > 0 {
			ids := rapid.SliceOf(rapid.Uint64Range(1, boundary)).Draw(t, "ids")
			for _, id := range ids {
				set.Add(store.RecordID(id))
				want[store.RecordID(id)] = true
			}
		}
		if got := set.Count(); got != uint64(len(want)) {
			t.Fatalf("Count() = %d, want %d", got, len(want))
		}
		var ascending []store.RecordID
		for id := store.RecordID(1); uint64(id) <= boundary; id++ {
			if set.Has(id) != want[id] {
				t.Fatalf("Has(%d) = %v, want %v", id, set.Has(id), want[id])
			}
			if want[id] {
				ascending = append(ascending, id)
			}
		}
		if got := slices.Collect(set.IDs()); !slices.Equal(got, ascending) {
			t.Fatalf("IDs() = %v, want %v", got, ascending)
		}
		bitmap := set.Bitmap()
		if uint64(len(bitmap)) != (boundary+7)/8 {
			t.Fatalf("bitmap of boundary %d has %d bytes", boundary, len(bitmap))
		}
		for i := range uint64(len(bitmap)) * 8 {
			bit := bitmap[i/8]>>(i%8)&1 == 1
			if bit != want[store.RecordID(i+1)] {
				t.Fatalf("bit %d is %v, want %v", i, bit, want[store.RecordID(i+1)])
			}
		}
	})
}

func TestUnion(t *testing.T) {
	a, b := kept.New(130), kept.New(130)
	a.Add(1)
	a.Add(64)
	b.Add(64)
	b.Add(130)
	a.Union(b)
	if got, want := slices.Collect(a.IDs()), []store.RecordID{1, 64, 130}; !slices.Equal(got, want) || a.Count() != 3 {
		t.Fatalf("union is %v (count %d), want %v", got, a.Count(), want)
	}
}

func TestRangeIsChecked(t *testing.T) {
	set := kept.New(8)
	for _, id := range []store.RecordID{0, 9} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Add(%d) into (0, 8] did not panic", id)
				}
			}()
			set.Add(id)
		}()
	}
}

// The digest is printed by previews and compared by later runs, so its bytes
// may never change.
func TestDigestIsPinned(t *testing.T) {
	set := kept.New(10)
	set.Add(3)
	set.Add(10)
	digest := set.Digest([32]byte{1, 2, 3})
	const want = "e88ca01abb9c26ffe4df8ba0566ef01f3080d75e3573fc3355e1efe17d47281d"
	if got := hex.EncodeToString(digest[:]); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	// The same from the bytes as the design page lists them.
	bytes := append([]byte{1, 2, 3}, make([]byte, 29)...)
	bytes = append(bytes, 10, 0, 0, 0, 0, 0, 0, 0, 0b100, 0b10)
	if sum := blake3.Sum256(bytes); digest != sum {
		t.Errorf("digest %x, want %x", digest, sum)
	}
}
