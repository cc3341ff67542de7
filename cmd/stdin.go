package cmd

import (
	"context"
	"errors"
	"io"

	"github.com/lace-store/lace/pkg/store"
)

// stoppableReader is standard input, from which a read ends when the run is
// asked to stop. The read of the system itself cannot be ended: it goes on
// beside, and ends with the process.
type stoppableReader struct {
	ctx   context.Context
	in    io.Reader
	came  chan chunk
	chunk chunk // what came and is not read yet
	busy  bool  // a read is under way
}

// chunk is what one read of the system gave.
type chunk struct {
	bytes []byte
	err   error
}

// stdinBuffer is how much is read at a time, in bytes.
const stdinBuffer = 64 << 10

func newStoppableReader(ctx context.Context, in io.Reader) *stoppableReader {
	return &stoppableReader{ctx: ctx, in: in, came: make(chan chunk, 1)}
}

// Read implements io.Reader. A stopped read returns the error of the context,
// and what it was about to read is lost.
func (r *stoppableReader) Read(p []byte) (int, error) {
	if len(r.chunk.bytes) == 0 && r.chunk.err == nil {
		if !r.busy {
			r.busy = true
			go r.fetch()
		}
		select {
		case r.chunk = <-r.came:
			r.busy = false
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(p, r.chunk.bytes)
	r.chunk.bytes = r.chunk.bytes[n:]
	if len(r.chunk.bytes) > 0 {
		return n, nil
	}
	return n, r.chunk.err
}

// fetch reads once. Its buffer is its own: nobody may wait for it any more.
func (r *stoppableReader) fetch() {
	buf := make([]byte, stdinBuffer)
	n, err := r.in.Read(buf)
	r.came <- chunk{buf[:n], err}
}

// stoppedReading tells a read that a request to stop has ended from one that
// failed.
func stoppedReading(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// errStoppedInput is the error of a run that was stopped while it waited for
// its policies.
func errStoppedInput(name string, err error) error {
	return &store.Error{Kind: store.Interrupted, Doing: "read policy", Path: name, Found: "stopped before anything was done", Err: err, Hint: "nothing was changed; run it again"}
}
