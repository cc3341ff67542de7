// Package faultfs wraps a vfs.FS: it writes down every call, fails the calls
// that a test chooses, and counts what is still open. It must not know what
// the calls are for.
//
// A transcript has one line for each call, such as
//
//	create compaction-plan.lace-tmp
//	write compaction-plan.lace-tmp [0, 104)
//	sync compaction-plan.lace-tmp
//	rename compaction-plan.lace-tmp compaction-plan
//	syncdir .
//	punch records [4096, 1048576): not supported by this file system
//
// What goes past it, such as the commit of a database, stands there when it is
// noted. Paths are relative to the directory given to New, ranges are in bytes, and
// the text after the colon is the error of a call that failed. Writes that
// continue each other are one line, so that the size of a buffer does not show.
package faultfs
