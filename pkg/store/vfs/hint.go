package vfs

// Hinter is what a File can do that takes advice about the order in which its
// bytes go to and come from the disk. Advice is for speed alone: it changes
// nothing about what is durable, and no correctness may depend on it. A failed
// write that it brings about is told by the next Sync, as ever.
type Hinter interface {
	// StartWriteBack asks that the writing of dirty bytes of [off, off+n)
	// begin now, and does not wait for it.
	StartWriteBack(off, n int64)
	// ReadAhead asks that [off, off+n) be read into the cache, and does not
	// wait for it.
	ReadAhead(off, n int64)
}

// StartWriteBack passes the advice on to a File that takes it.
func StartWriteBack(f File, off, n int64) {
	if h, ok := f.(Hinter); ok {
		h.StartWriteBack(off, n)
	}
}

// ReadAhead passes the advice on to a File that takes it.
func ReadAhead(f File, off, n int64) {
	if h, ok := f.(Hinter); ok {
		h.ReadAhead(off, n)
	}
}
