package native

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// CapacityVariable is the environment variable that overrides the capacity of
// a root at its creation, as a decimal number of bytes. Opening an existing
// root does not read it.
const CapacityVariable = "LACE_NATIVE_STORE_CREATE_CAPACITY"

// Rules of the capacity, in bytes (seed 002).
const (
	minCapacity         = 1 << 20
	capacityUnit        = 1 << 16
	wideDefaultCapacity = 1 << 40
	// Windows charges commit memory for mappings; arm64 Android has 39-bit
	// addresses.
	narrowDefaultCapacity = 1 << 36
)

// bootstrapWait is how long the bootstrap lock is tried before LockWait
// counts: openers hold it for moments only.
const bootstrapWait = time.Second

// Options say how a root is opened. FS is required; the zero value of the rest
// is the default.
type Options struct {
	FS vfs.FS
	// ReadOnly opens without writing anything at all: no truncation of a torn
	// row, no lock file, no cleaning. It works on a read-only mount.
	ReadOnly bool
	// LockWait is how long a lock held by someone else is waited for.
	LockWait time.Duration
	// Waiting, unless nil, is told once what is being waited for.
	Waiting func(what string)
	// Capacity is the arena length of a root being created, in bytes. Zero
	// leaves it to CapacityVariable, and else to the platform's default.
	Capacity uint64
	// LookupEnv, unless nil, is asked for CapacityVariable, and only when an
	// arena has to be made. Programs pass os.LookupEnv.
	LookupEnv func(string) (string, bool)
	// NoPublish keeps a writer from publishing posting lists, as a sweep does
	// whose compaction removes them all.
	NoPublish bool
	// IndexMemory bounds the posting lists in memory, in bytes.
	IndexMemory int64
}

// CapacityFrom reads CapacityVariable through lookup, which is os.LookupEnv
// outside of tests. Zero means that it is not set.
func CapacityFrom(lookup func(string) (string, bool)) (uint64, error) {
	text, set := lookup(CapacityVariable)
	if !set {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err == nil {
		err = checkCapacity(n)
	}
	if err != nil {
		return 0, &store.Error{Kind: store.Integration, Doing: "create", Where: CapacityVariable, Found: strconv.Quote(text), Want: capacityRule, Err: err}
	}
	return n, nil
}

const capacityRule = "a multiple of 65536, at least 1048576"

func checkCapacity(n uint64) error {
	if n < minCapacity || n%capacityUnit != 0 || n > 1<<62 {
		return fmt.Errorf("capacity %d is not %s", n, capacityRule)
	}
	return nil
}

func defaultCapacity() uint64 {
	if runtime.GOOS == "windows" || runtime.GOOS == "android" {
		return narrowDefaultCapacity
	}
	return wideDefaultCapacity
}

// creationCapacity returns the capacity for the arena of dir, before anything
// is made. It is zero when dir has an arena, whose recorded length counts.
func (o Options) creationCapacity(dir string) (uint64, error) {
	info, err := o.FS.Stat(filepath.Join(dir, root.Records))
	if err == nil && info.Size > 0 {
		return 0, nil
	}
	switch {
	case o.Capacity != 0:
		if err := checkCapacity(o.Capacity); err != nil {
			return 0, &store.Error{Kind: store.Integration, Doing: "create", Root: dir, Err: err}
		}
		return o.Capacity, nil
	case o.LookupEnv != nil:
		if n, err := CapacityFrom(o.LookupEnv); n != 0 || err != nil {
			return n, err
		}
	}
	return defaultCapacity(), nil
}
