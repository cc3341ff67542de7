package crashfs

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// ErrCrashed is what every call returns from the crash on.
var ErrCrashed = errors.New("the machine has crashed")

// Options are what a file system can and cannot do. The zero value can do
// everything.
type Options struct {
	// FreeBytes is the storage for file contents, in bytes, of which every
	// sector that is not a hole takes 512. 0 means that it never ends.
	FreeBytes int64
	// NoPunch makes PunchHole answer vfs.ErrUnsupported.
	NoPunch bool
	// OrderedEntries makes changes of directories survive a crash in the order
	// they were made, a rename whole, as a journaling file system has it.
	OrderedEntries bool
	// IgnoreDropCache makes DropCache do nothing: it is only advice.
	IgnoreDropCache bool
	// ReleaseAtOnce makes Mapping.Release release even while views are
	// reachable, which spares runs by the thousand the garbage collector. The
	// views stay valid, because here they are copies.
	ReleaseAtOnce bool
}

// FS is the model. It may be used by several goroutines.
type FS struct {
	options Options

	mu      sync.Mutex
	inodes  map[uint64]*inode
	nextID  uint64
	order   uint64 // of changes of entries
	calls   int
	crashAt int
	failure failure
	down    error // set from a crash or shutdown on: what every call returns
	opens   map[*inode]int
	locks   map[*inode]map[*file]vfs.LockMode
}

var _ vfs.FS = (*FS)(nil)

// rootID is the directory "/", which is durable from the start.
const rootID = 1

// New makes an empty file system: the directory "/" and nothing else.
func New(o Options) *FS {
	f := fresh(o)
	f.inodes[rootID] = &inode{id: rootID, kind: vfs.Directory, name: "/"}
	f.nextID = rootID
	return f
}

func fresh(o Options) *FS {
	return &FS{
		options: o,
		inodes:  map[uint64]*inode{},
		opens:   map[*inode]int{},
		locks:   map[*inode]map[*file]vfs.LockMode{},
	}
}

// Calls is the number of calls so far that change something or make it
// durable: creating a file, WriteAt, Truncate, PunchHole, Sync, Mkdir, Remove,
// Rename and SyncDir. Calls that are refused for their arguments do not count.
func (f *FS) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// CrashAt cuts the power during the k-th call that Calls counts, from 1. That
// call takes effect, but nothing that it was to make durable has become so.
// It and every later call return ErrCrashed. 0 means never.
func (f *FS) CrashAt(k int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashAt = k
}

// Crashed says whether the power was cut by CrashAt.
func (f *FS) Crashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down == ErrCrashed
}

// Clone returns an independent copy of the state: also what the next process
// finds after this one was killed. Handles and locks are gone, pending crashes
// and failures too, and Calls starts from 0.
func (f *FS) Clone() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	twin := fresh(f.options)
	twin.nextID, twin.order = f.nextID, f.order
	for _, n := range f.reachable() {
		twin.inodes[n.id] = n.share()
	}
	return twin
}

// reachable returns every inode that an entry names, in the cache, on the disk
// or among the pending changes, in the order they were made.
func (f *FS) reachable() []*inode {
	found := map[uint64]bool{rootID: true}
	nodes := []*inode{f.inodes[rootID]}
	find := func(id uint64) {
		if id != 0 && !found[id] {
			found[id] = true
			nodes = append(nodes, f.inodes[id])
		}
	}
	for i := 0; i < len(nodes); i++ {
		for _, id := range nodes[i].entries.m {
			find(id)
		}
		for _, id := range nodes[i].diskEntries.m {
			find(id)
		}
		for _, c := range nodes[i].pendingEntries {
			find(c.id)
		}
	}
	slices.SortFunc(nodes, func(a, b *inode) int { return cmp.Compare(a.id, b.id) })
	return nodes
}

// change performs a counted call that changes something. The caller holds the
// mutex and has checked everything that could refuse it.
func (f *FS) change(op, path string, apply func()) error {
	f.calls++
	apply()
	if f.calls == f.crashAt {
		f.down = ErrCrashed
		return pathError(op, path, ErrCrashed)
	}
	return nil
}

// check is the first step of every call. The caller holds the mutex.
func (f *FS) check(op, path string) error {
	if f.down != nil {
		return pathError(op, path, f.down)
	}
	return nil
}

// used is the storage that file contents take now, in bytes.
func (f *FS) used() int64 {
	sectors := 0
	seen := map[*inode]bool{}
	count := func(n *inode) {
		if !seen[n] {
			seen[n] = true
			sectors += len(n.cache.sectors.m)
		}
	}
	for n := range f.opens {
		count(n)
	}
	stack := []uint64{rootID}
	for len(stack) > 0 {
		n := f.inodes[stack[len(stack)-1]]
		stack = stack[:len(stack)-1]
		count(n)
		for _, child := range n.entries.m {
			stack = append(stack, child)
		}
	}
	return int64(sectors) * sectorBytes
}

func (f *FS) newInode(kind vfs.Type, name string) *inode {
	f.nextID++
	n := &inode{id: f.nextID, kind: kind, name: name}
	f.inodes[n.id] = n
	return n
}

func pathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: err}
}
