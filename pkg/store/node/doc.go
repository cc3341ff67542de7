// Package node is the Node filesystem profile (seed 002): the layout that
// @lace/lace-js/node writes, with a sentinel in place of kernel locks and an
// arena that has the exact committed length. It must not know policies or how a
// compaction decides and moves.
//
//	store-format   the marker; nobody locks it
//	node-lock      the sentinel: there while a program has the root open
//	record-log     64-byte rows, see package rowlog
//	records        the records, one directly behind the other
//	indexes-v2/    posting lists, see package index/listdir
//
// Node.js has no kernel locks, so that the sentinel alone keeps programs apart.
// It is made exclusively, holds the owner's pid in decimal and LF, and is
// removed by its owner as the last act of a clean close. One that a dead owner
// left is never removed automatically: nobody can tell it from a live one.
//
// Records are read by position into memory of their own. There is no mapping
// that could outlive the store, and so nothing that a compaction would have to
// wait for but the sentinel (seed 000: JavaScript stores return owned copies
// and need no live-record exclusion).
package node
