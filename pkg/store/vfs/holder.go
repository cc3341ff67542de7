package vfs

// Holder is a process that holds a lock, as far as the system tells. It is
// good for a message, never for a decision: the process may be gone already,
// or its number taken by another.
type Holder struct {
	PID     int
	Command string // "" when the system does not tell
}

// HolderFinder is what a file system can do that knows who holds its locks.
type HolderFinder interface {
	// LockHolders returns processes that hold a lock of the file at path; none
	// when the system does not tell.
	LockHolders(path string) []Holder
}

// LockHolders asks fsys, or the one that it wraps, who holds a lock of the
// file at path. Most systems do not tell, and the answer is none.
func LockHolders(fsys FS, path string) []Holder {
	for fsys != nil {
		if finder, ok := fsys.(HolderFinder); ok {
			return finder.LockHolders(path)
		}
		wrapper, ok := fsys.(interface{ Unwrap() FS })
		if !ok {
			return nil
		}
		fsys = wrapper.Unwrap()
	}
	return nil
}
