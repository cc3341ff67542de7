// Package storetest is the conformance suite that every store.Backend runs,
// and the linear store that serves as its oracle. It must not know how any
// backend finds records: the oracle scans everything and shares no code with
// the planner of pkg/store/index.
package storetest
