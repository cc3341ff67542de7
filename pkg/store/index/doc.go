// Package index finds candidate records: the primitive keys, their posting
// lists, the planner that narrows a query to one candidate source, and the
// read executor that every indexed store shares. It must not know policies,
// bindings or any physical profile; rows and durable lists reach it through
// the small interfaces Rows and Durable.
//
// A posting list is acceleration only. It names, for one key, records up to a
// checked-through position; every candidate still passes the complete record
// matcher, so that a list can make an answer cheaper but never larger, and
// whatever is wrong with lists ends in a scan.
//
// The file of a list is (byte order is ours: little-endian like record-log)
//
//	offset  size  field
//	0       8     record id, u64, in strictly increasing order
//	...
//	8*n     8     checked through, u64: the last position that was examined
//
// and its path below indexes-v2 is one of
//
//	field-presence/ENC(name).ids
//	field-exact/ENC(name)/ENC(value).ids
//	field-prefix/ENC(name)/ENC(start).ids
//	record-link-target/ENC(target).ids
//	record-link-name-data/ENC(name)/ENC(data).ids
//
// where ENC is x followed by the lowercase hexadecimal UTF-8 bytes.
package index
