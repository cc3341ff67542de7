//go:build !race

package compacttest_test

const underRace = false
