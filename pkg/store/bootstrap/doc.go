// Package bootstrap is the first step of every opening of a native root: it
// accepts the marker in store-format under the bootstrap lock, which is a lock
// on that very file, or makes a root that has nothing but a marker. It must not
// know what a profile does behind that.
//
// The bootstrap lock is tried for a bounded time. A native filesystem root
// gives it up for its lifetime lock; an LMDB root holds it while its
// environment is opened, and throughout a compaction. A Node root has none: its
// marker is accepted and made without a lock.
package bootstrap
