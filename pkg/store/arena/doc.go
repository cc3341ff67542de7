// Package arena is the file records of a native root, which the filesystem and
// the LMDB profile share: its fixed capacity, its mapping and arena-lock, what
// is copied into it and how its tail is given back. It must not know how rows
// are kept.
//
//	records      committed bytes from 0 to the committed end, residue or a hole
//	             behind; sparse, its length is the capacity
//	arena-lock   empty; shared by every mapping of records for as long as the
//	             mapping or a record over it lives, exclusive to compaction
package arena
