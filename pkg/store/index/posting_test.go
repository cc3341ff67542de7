package index_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
)

// drawIDs draws strictly increasing ids, some close together, some chunks
// apart.
func drawIDs(t *rapid.T) []store.RecordID {
	ids := []store.RecordID{}
	at := store.RecordID(0)
	for range rapid.IntRange(0, 60).Draw(t, "count") {
		at += rapid.SampledFrom([]store.RecordID{1, 1, 2, 7, 1 << 15, 1 << 16, 1<<16 + 1, 1 << 33}).Draw(t, "gap")
		ids = append(ids, at)
	}
	return ids
}

func posting(ids []store.RecordID, through store.Position) *index.Posting {
	var p index.Posting
	for _, id := range ids {
		p.Append(id)
	}
	p.Cover(through)
	return &p
}

func idsOf(p *index.Posting) []store.RecordID {
	ids := []store.RecordID{}
	p.Each(func(id store.RecordID) bool {
		ids = append(ids, id)
		return true
	})
	return ids
}

// within is the oracle of a walk over (lo, hi].
func within(ids []store.RecordID, lo, hi store.Position) []store.RecordID {
	return slices.DeleteFunc(slices.Clone(ids), func(id store.RecordID) bool {
		return store.Position(id) <= lo || store.Position(id) > hi
	})
}

// near draws a position at, just below or just above one of the ids.
func near(t *rapid.T, ids []store.RecordID, label string) store.Position {
	if len(ids) == 0 {
		return store.Position(rapid.Uint64Range(0, 3).Draw(t, label))
	}
	at := uint64(rapid.SampledFrom(ids).Draw(t, label))
	return store.Position(at + 1 - rapid.Uint64Range(0, 2).Draw(t, label+" by"))
}

func TestPostingWalksLikeASortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := drawIDs(t)
		p := posting(ids, 1<<40)
		if got := idsOf(p); !slices.Equal(got, ids) || p.Len() != uint64(len(ids)) {
			t.Fatalf("holds %v, want %v", got, ids)
		}
		lo, hi := near(t, ids, "lo"), near(t, ids, "hi")
		if lo > hi {
			lo, hi = hi, lo
		}
		want := within(ids, lo, hi)
		walk := p.Candidates(lo, hi)
		if walk.Count() != uint64(len(want)) {
			t.Fatalf("counts %d in (%d, %d], want %d", walk.Count(), lo, hi, len(want))
		}
		for at := store.RecordID(lo) + 1; ; {
			at = max(at, store.RecordID(near(t, ids, "seek")))
			i, _ := slices.BinarySearch(want, at)
			next := store.RecordID(0)
			if i < len(want) {
				next = want[i]
			}
			got, err := walk.SeekGE(at)
			if got != next || err != nil {
				t.Fatalf("seek to %d found %d and %v, want %d", at, got, err, next)
			}
			if got == 0 {
				break
			}
			at = got + 1
		}
	})
}

func TestPostingCloneGrowsApart(t *testing.T) {
	p := posting([]store.RecordID{1, 5, 1 << 16}, 1<<16)
	a, b := p.Clone(), p.Clone()
	a.Append(1<<16 + 1)
	b.Append(1<<16 + 2)
	p.Append(1<<16 + 3)
	for i, c := range []struct {
		list *index.Posting
		last store.RecordID
	}{{a, 1<<16 + 1}, {b, 1<<16 + 2}, {p, 1<<16 + 3}} {
		if got := idsOf(c.list); !slices.Equal(got, []store.RecordID{1, 5, 1 << 16, c.last}) {
			t.Errorf("list %d holds %v", i, got)
		}
	}
}

func TestPostingRefusesDisorder(t *testing.T) {
	for name, misuse := range map[string]func(*index.Posting){
		"zero":                      func(p *index.Posting) { p.Append(0) },
		"repeated":                  func(p *index.Posting) { p.Append(3); p.Append(3) },
		"descending":                func(p *index.Posting) { p.Append(3); p.Append(2) },
		"inside what is covered":    func(p *index.Posting) { p.Cover(10); p.Append(10) },
		"covering less than it has": func(p *index.Posting) { p.Append(7); p.Cover(6) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("went unnoticed")
				}
			}()
			misuse(&index.Posting{})
		})
	}
}

func TestPostingTakesTwoBytesAnID(t *testing.T) {
	var p index.Posting
	const n = 1 << 20
	for id := store.RecordID(1); id <= n; id++ {
		p.Append(id)
	}
	if perID := float64(p.Bytes()) / n; perID > 2.6 {
		t.Errorf("takes %.2f bytes an id", perID)
	}
}

func BenchmarkPostingSeek(b *testing.B) {
	var p index.Posting
	for id := store.RecordID(3); id < 1<<20; id += 3 {
		p.Append(id)
	}
	for _, gap := range []store.RecordID{1, 100, 10_000} {
		b.Run(map[store.RecordID]string{1: "next", 100: "near", 10_000: "far"}[gap], func(b *testing.B) {
			walk := p.Candidates(0, math.MaxUint64)
			at := store.RecordID(1)
			for b.Loop() {
				found, _ := walk.SeekGE(at)
				if found == 0 {
					walk, at = p.Candidates(0, math.MaxUint64), 1
					continue
				}
				at = found + gap
			}
		})
	}
}
