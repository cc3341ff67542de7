//go:build unix

package sweep_test

import (
	"context"
	"errors"
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
}

func (m *mapped) Execute(op store.Op) (store.Result, error) {
	res, err := m.Backend.Execute(op)
	if found, ok := res.(store.FoundResult); ok {
		for i, rec := range found.Records {
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
	result, err := sweep.Run(context.Background(), &mapped{r.store(t), view}, r.prepare(t, linkPolicy), sweep.Options{})
	runtime.KeepAlive(view)
	if !errors.Is(err, store.Store) || result != nil {
		t.Errorf("%v, %v", result, err)
	}
}
