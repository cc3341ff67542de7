// Package record reads and writes the canonical bytes of Blob, Plex and Seal
// records and the typed hash that names each of them. It knows nothing of
// stores, files or policies; signatures are the business of record/mark.
//
// Every record begins with a glyph line of 55 bytes:
//
//	offset  size  field
//	0       4     F0 9F 96 A7, the sign U+1F5A7
//	4       2     colon, space
//	6       48    typed hash text T.<43 B64A characters>.H3
//	54      1     LF
//
// The digest in the typed hash is BLAKE3-256 over every byte behind that LF.
// docs/format/records.md has the layouts of the three kinds, and marks the decisions
// that are ours.
package record
