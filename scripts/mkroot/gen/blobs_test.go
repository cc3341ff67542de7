package gen

import (
	"errors"
	"io"
	"testing"
)

func TestBlobsHaveTheLengthAskedFor(t *testing.T) {
	for _, length := range []int{200, 2000, 32 << 10} {
		src, err := NewBlobs(BlobOptions{Records: 3, MinLen: length, MaxLen: length, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for {
			v, err := src.Next(nil)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Bytes()) != length {
				t.Errorf("a record of %d bytes, want %d", len(v.Bytes()), length)
			}
			seen[v.Hash().String()] = true
		}
		if len(seen) != 3 {
			t.Errorf("%d different records, want 3", len(seen))
		}
	}
}

func TestBlobsTooShort(t *testing.T) {
	if _, err := NewBlobs(BlobOptions{Records: 1, MinLen: 10, MaxLen: 20}); err == nil {
		t.Error("records of 10 bytes were promised")
	}
}
