//go:build unix

package sweep_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
)

// mapped answers searches with records that lie in a mapping which cannot be
// read any more.
type mapped struct {
	store.Backend
	bytes []byte
	reads bool // the store itself reads them, too
}

func (m *mapped) Execute(op store.Op) (store.Result, error) {
	res, err := m.Backend.Execute(op)
	if found, ok := res.(store.FoundResult); ok {
		for i, rec := range found.Records {
			if m.reads && m.bytes[0] == 'x' {
				return nil, io.EOF
			}
			found.Records[i].Bytes = m.bytes[:len(rec.Bytes)]
		}
	}
	return res, err
}

// TestMemoryFault: a disk that fails under a mapping ends the sweep with an
// error, not the program.
func TestMemoryFault(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "arena"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 16); err != nil {
		t.Fatal(err)
	}
	view, err := syscall.Mmap(int(f.Fd()), 0, 1<<16, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(view)
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	r := linkRoot(t)
	before := runtime.NumGoroutine()
	for n := range 6 {
		jobs, reads := 1+n/2, n%2 == 0
		o := sweep.Options{Jobs: jobs, WindowRecords: 1}
		result, err := sweep.Run(context.Background(), &mapped{r.store(t), view, reads}, r.prepare(t, linkPolicy, linkPolicy), o)
		if !errors.Is(err, store.Store) || result != nil {
			t.Errorf("%d jobs, read by the store %t: %v, %v", jobs, reads, result, err)
		}
	}
	noGoroutineSince(t, before)
	runtime.KeepAlive(view)
}
