//go:build race

package compacttest_test

// The detector makes the model ten times slower, and these tests have one
// goroutine each.
const underRace = true
