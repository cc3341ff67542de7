// Package store is the boundary between what is asked of a Lace root and what
// a root physically is: record ids, operations, results and the kinds of
// error. It must not know policies, facts or any physical profile.
//
// One operation goes in, one result comes out (seed 004):
//
//	CurrentStorePosition    -> PositionResult
//	ResolveStoreRecordIDs   -> ResolvedResult   positional, 0 is Missing
//	FindRecords             -> FoundResult      increasing ids, continuation
//	LoadRecordsByHash       -> LoadedResult     positional, ID 0 is Missing
//	LoadRecordsByStoreID    -> LoadedResult     positional, ID 0 is Missing
//	StoreRecords            -> StoredResult     positional, and the position
//
// A Backend serves them for one root. Operations are plain data, so that a
// machine without IO (pkg/sweep) can hand them out and resume on the answer.
package store
