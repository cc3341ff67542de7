//go:build cgo

package lmdb_test

import (
	"testing"

	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/profiletest"
)

func BenchmarkProfile(b *testing.B) {
	profiletest.Subject{Profile: lmdb.Profile{}, Capacity: 1 << 30}.Benchmark(b)
}
