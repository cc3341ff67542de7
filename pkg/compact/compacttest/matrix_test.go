package compacttest_test

import (
	"testing"

	"github.com/lace-store/lace/pkg/compact/compacttest"
)

func TestMatrix(t *testing.T) {
	compacttest.Matrix(t, compacttest.Plain{}, compacttest.Options{States: 12_000, Random: 4})
}

func TestMatrixTruncating(t *testing.T) {
	compacttest.Matrix(t, compacttest.Plain{Truncate: true}, compacttest.Options{States: 6_000, Random: 4})
}
