// Package native is the native filesystem profile (seed 002): marker, locks,
// opening, recovery and admission of a root whose records lie in one sparse
// arena, and what publish and release mean there when it is compacted. It must
// not know policies or how a compaction decides and moves.
//
//	store-format   the marker; also the bootstrap lock of every opening
//	lock           exclusive kernel lock while a Lace owns the root
//	arena-lock     shared by every mapping of records, exclusive to compaction
//	record-log     64-byte rows, see package rowlog
//	records        the arena: sparse, its length is the capacity
//	indexes-v2/    posting lists, see package index/listdir
//	staging/       records being received; never committed state
//
// A row in record-log is the admission point of a record: its bytes are
// durable before the row is written. Bytes behind the last row are residue.
package native
