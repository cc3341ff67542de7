// Package lmdb is the native LMDB profile (seed 000): a root whose bytes lie in
// the same arena as a native one and whose rows, hashes and posting lists are
// databases of one LMDB environment, which cooperating processes share. It must
// not know policies or how a compaction decides and moves.
//
//	store-format   the marker; also the bootstrap lock of every opening, which
//	               a compaction holds throughout
//	arena-lock     shared by every mapping of records, exclusive to compaction
//	records        the arena, see package arena
//	data.mdb       the environment; it never shrinks
//	lock.mdb       LMDB's own table of readers and writers
//
// The environment has three named databases:
//
//	name           key                          value
//	records-by-id  id, u64 big-endian           the 64-byte row of record-log
//	ids-by-hash    typed hash text, 48 bytes    id, u64 big-endian
//	postings       a Key, see AppendKey         ids, u64 big-endian, sorted
//
// A commit is the admission point of its records: their bytes are durable in
// the arena before it, and rows, hashes and postings are in it together. A
// posting that is missing means no candidates, so that postings are truth here
// where the filesystem profiles have a cache.
//
// LMDB reads and writes its two files itself, in C. Everything else goes
// through package vfs. A build without cgo has no LMDB: then this package knows
// the profile by name only, and refuses its roots as Unsupported.
package lmdb
