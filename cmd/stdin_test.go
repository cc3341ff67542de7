package cmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

// What is read is what the input has, however it comes, and its error.
func TestStoppableReaderReadsAll(t *testing.T) {
	want := make([]byte, 3*stdinBuffer+17)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(want) // it never fails
	broken := errors.New("broken")
	for name, in := range map[string]func(io.Reader) io.Reader{
		"as it is":                    func(r io.Reader) io.Reader { return r },
		"a byte at a time":            iotest.OneByteReader,
		"the end with the last bytes": iotest.DataErrReader,
		"broken at the end": func(r io.Reader) io.Reader {
			return io.MultiReader(r, iotest.ErrReader(broken))
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(newStoppableReader(t.Context(), in(bytes.NewReader(want))))
			if err != nil && !(errors.Is(err, broken) && name == "broken at the end") {
				t.Fatal(err)
			}
			if err == nil && name == "broken at the end" {
				t.Error("its error is lost")
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d", len(got), len(want))
			}
		})
	}
}

// A read that waits ends with the request to stop.
func TestStoppableReaderStops(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, stop := context.WithCancel(t.Context())
	r := newStoppableReader(ctx, in)
	wrote := make(chan error, 1)
	go func() {
		_, err := out.Write([]byte("ab"))
		wrote <- err
	}()
	got := make([]byte, 2)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "ab" {
		t.Fatalf("read %q, %v", got, err)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	go stop() // nothing more is written
	if n, err := r.Read(got); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
