// Package logfile is the file record-log of a filesystem-shaped root: how it is
// loaded, recovered, appended to by an admission and replaced by a compaction.
// The native and the Node profile share it. It must not know how a root is
// locked, nor whether its arena has a fixed length.
//
//	record-log   64-byte rows, see package rowlog
//
// A row is the admission point of a record: its bytes are durable before the
// row is written. Bytes of the arena behind the last row are residue.
package logfile
