package native_test

import (
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// TestCompactionSurvivesCrashes is the crash matrix of this profile.
func TestCompactionSurvivesCrashes(t *testing.T) {
	compacttest.Matrix(t, subject, compacttest.Options{First: 3 << 20, States: 2_000, Random: 4, Stride: 14})
}

// TestCompactionSurvivesSecondCrashes cuts the power at every call of the
// resume after a kill at every call.
func TestCompactionSurvivesSecondCrashes(t *testing.T) {
	compacttest.Matrix(t, subject, compacttest.Options{First: 4 << 20, States: 1_000, Stride: 40, EverySecond: true})
}

func TestEveryCallOfACompactionFails(t *testing.T) {
	subject.EveryCallOfACompactionFails(t, func(c faultfs.Call) bool {
		// Posting lists are acceleration; a mapping cannot report the end of its lock.
		return strings.HasPrefix(c.Path, root.Indexes) || c.Op == faultfs.Close && c.Path == root.ArenaLock
	})
}

func TestIndexPublicationSurvivesCrashes(t *testing.T) { subject.IndexPublicationSurvivesCrashes(t) }
