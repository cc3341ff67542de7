package profiletest_test

import (
	"testing"

	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/node"
	"github.com/lace-store/lace/pkg/store/profiletest"
)

// BenchmarkProfiles compares the profiles of this build with the native one, in
// turns.
func BenchmarkProfiles(b *testing.B) {
	all := []profiletest.Subject{{Profile: native.Profile{}, Capacity: 1 << 30}, {Profile: node.Profile{}}}
	if lmdb.Built {
		all = append(all, profiletest.Subject{Profile: lmdb.Profile{}, Capacity: 1 << 30})
	} else {
		b.Log("without LMDB, which needs cgo")
	}
	profiletest.Compare(b, all...)
}
