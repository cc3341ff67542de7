// Package eval evaluates one module, window by window, over the records of one
// store at one boundary, and answers which records it selects. It must not
// know backends, files, windows beyond the comparisons that are in the rules,
// or how a policy is written.
//
// Values are interned: a record that is held at the boundary is its id, all
// other text a number, so that a relation is a table of integers. Strata are
// evaluated in order, recursive ones semi-naively. A rule is a pipeline of
// steps over blocks of bindings:
//
//	relation   join with a derived relation, Param or the winners of a TopK
//	group      join with all record atoms over one owner, acquired together
//	test       keep or drop bindings by what a relation or the records say
//	count      keep or drop bindings by the number of their matches
//	filter     Compare and Prefix;  assign: '=' with one side bound
//
// A group is acquired by FindRecords, in pages, while nothing has bound its
// owner, and by LoadRecordsByStoreID, a block at a time, once something has.
package eval
