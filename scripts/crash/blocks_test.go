//go:build linux && amd64

package main

import (
	"reflect"
	"testing"
)

// TestSplitKeepsTheSuperblockWhole cuts writes that hold, touch or miss a
// superblock of 1024 bytes at 1024.
func TestSplitKeepsTheSuperblockWhole(t *testing.T) {
	super := span{1024, 1024}
	for _, c := range []struct {
		off, len, unit int64
		want           []span
	}{
		{0, 4096, 512, []span{{0, 512}, {512, 512}, {1024, 1024}, {2048, 512}, {2560, 512}, {3072, 512}, {3584, 512}}},
		{0, 4096, 4096, []span{{0, 1024}, {1024, 1024}, {2048, 2048}}},
		{1024, 1024, 512, []span{{1024, 1024}}},
		{1536, 1024, 512, []span{{1536, 512}, {2048, 512}}},
		{4096, 1000, 512, []span{{4096, 512}, {4608, 488}}},
	} {
		e := event{off: c.off, data: make([]byte, c.len), len: c.len}
		for i := range e.data {
			e.data[i] = byte(i / 7)
		}
		var got []span
		var bytes []byte
		for _, p := range e.split(c.unit, super) {
			got = append(got, span{p.off, p.len})
			bytes = append(bytes, p.data...)
		}
		if !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(bytes, e.data) {
			t.Errorf("split %d+%d by %d: %v, want %v", c.off, c.len, c.unit, got, c.want)
		}
	}
}
