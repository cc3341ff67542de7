// Package move is step C of a compaction (seed 000): it cuts the plan into
// batches, journals the rows whose old range a batch overwrites, writes every
// row to its new place, and redoes the batch that an interruption left. It
// must not know what a root holds besides the arena and the compaction files.
//
// Two facts carry the protocol. Rows are written in ascending order and no row
// moves up, so a write never hits the source of a later row. And the rows of a
// batch whose old range lies in its destination D are a prefix of the batch,
// since old offsets ascend: exactly they are journaled, durably, before the
// first write into D.
//
//	          first row                      next batch
//	new:  |--- D = [new offset, new end) ---|
//	old:      |j0|  |j1|     |j2|       |j3|   |r4|      |r5|
//	           rows that start inside D: journaled   untouched sources
//
// A batch that is interrupted is redone from its sources, the journal or the
// old ranges. That a destination hashes right proves nothing in the same boot:
// after a failed sync the page cache shows bytes that the disk does not have.
package move
