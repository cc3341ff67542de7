package node_test

import "testing"

func BenchmarkProfile(b *testing.B) { subject.Benchmark(b) }
