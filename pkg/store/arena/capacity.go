package arena

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
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

// CapacityFrom reads CapacityVariable through lookup, which is os.LookupEnv
// outside of tests. Zero means that it is not set.
func CapacityFrom(lookup func(string) (string, bool)) (uint64, error) {
	text, set := lookup(CapacityVariable)
	if !set {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err == nil {
		err = CheckCapacity(n)
	}
	if err != nil {
		return 0, &store.Error{Kind: store.Integration, Doing: "create", Where: CapacityVariable, Found: strconv.Quote(text), Want: capacityRule, Err: err}
	}
	return n, nil
}

const capacityRule = "a multiple of 65536, at least 1048576"

// CheckCapacity says why a number of bytes is no capacity.
func CheckCapacity(n uint64) error {
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

// CreationCapacity returns the capacity for the arena of dir, before anything
// is made. It is zero when dir has an arena, whose recorded length counts.
func CreationCapacity(o profile.Options, dir string) (uint64, error) {
	info, err := o.FS.Stat(filepath.Join(dir, root.Records))
	if err == nil && info.Size > 0 {
		return 0, nil
	}
	switch {
	case o.Capacity != 0:
		if err := CheckCapacity(o.Capacity); err != nil {
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

// RequireCapacity refuses a root whose arena has a length that is no valid
// capacity.
func RequireCapacity(fsys vfs.FS, dir string) error {
	path := filepath.Join(dir, root.Records)
	info, err := fsys.Stat(path)
	if err != nil {
		return root.IOError("open", dir, path, err)
	}
	if err := CheckCapacity(uint64(info.Size)); err != nil {
		return root.Corrupt(dir, path, "length", err.Error(), "")
	}
	return nil
}

// Size makes the arena of a root being created: a durable hole of capacity
// bytes.
func Size(fsys vfs.FS, dir string, capacity uint64) error {
	path := filepath.Join(dir, root.Records)
	f, err := fsys.OpenFile(path, vfs.ReadWrite|vfs.Create)
	if err != nil {
		return root.IOError("create", dir, path, err)
	}
	err = f.SetSparse()
	if err == nil {
		err = f.Truncate(int64(capacity))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return root.IOError(fmt.Sprintf("size to %d bytes", capacity), dir, path, err)
	}
	return nil
}
