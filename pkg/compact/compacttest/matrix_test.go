package compacttest_test

import (
	"testing"

	"github.com/lace-store/lace/pkg/compact/compacttest"
)

func TestMatrix(t *testing.T) {
	compacttest.Matrix(t, compacttest.Plain{}, compacttest.Options{States: states(5_000), Random: 4, Stride: 6})
}

func TestMatrixTruncating(t *testing.T) {
	compacttest.Matrix(t, compacttest.Plain{Truncate: true}, compacttest.Options{First: 1 << 20, States: states(2_000), Random: 4, Stride: 6})
}

// TestMatrixEverySecond cuts the power at every call of the resume after a kill
// at every call.
func TestMatrixEverySecond(t *testing.T) {
	compacttest.Matrix(t, compacttest.Plain{}, compacttest.Options{First: 2 << 20, States: states(4_000), Stride: 12, EverySecond: true})
}

// states is how many to try in an ordinary run.
func states(n int) int {
	if underRace {
		return n / 10
	}
	return n
}
