// Package crashfs is a model file system in memory whose power can be cut at
// any call. It must not know what the files mean: it knows only what a disk
// promises, and promises no more than that.
//
// # What is durable
//
//   - Bytes, holes and the size of a file are durable by a Sync of that file;
//     entries made, renamed and removed by a SyncDir of their directory. Nothing
//     else makes anything durable, closing a file least of all.
//   - Of what is not durable, a crash keeps what a Survivors value chooses: each
//     512-byte sector holds the last durable version or any later one, each
//     write may be torn at 512 or 4096 bytes, and later changes may survive
//     where earlier ones do not. The size of a file survives apart from its
//     bytes; a truncation takes the bytes with the size.
//   - An entry that is renamed is two changes, the new name and the end of the
//     old one, and either may survive alone, unless Options.OrderedEntries says
//     that changes of entries survive in the order they were made.
//
// # How a test goes
//
//	base := crashfs.New(crashfs.Options{})      // build a state in it
//	for k := 1; ; k++ {
//		run := base.Clone()
//		run.CrashAt(k)                      // call k and all later ones fail
//		if err := work(run); err == nil {
//			break                       // the work needs fewer than k calls
//		}
//		for _, s := range run.Survivors(16, seed) {
//			after := run.Crash(s)       // the machine after the reboot
//			check(after)
//		}
//	}
//
// Clone is also what a killed process leaves: the cache is whole, handles and
// locks are gone, and what was not durable still is not.
//
// # How a sync fails
//
// FailSync makes one sync fail the way Linux does: the error is reported once,
// and whatever did not reach the disk is forgotten. It counts as clean from
// then on, so later syncs succeed without writing it.
//
// Files are sparse, so an arena of a tebibyte costs nothing. A Clone shares
// what it can with its original.
package crashfs
