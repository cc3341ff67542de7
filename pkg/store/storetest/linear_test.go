package storetest

import (
	"testing"

	"github.com/lace-store/lace/pkg/store"
)

// The oracle runs the suite too, which proves the suite against itself and the
// oracle against the expectations that the suite states in numbers.
func TestLinearConformance(t *testing.T) {
	Run(t, func(*testing.T) store.Backend { return &Linear{} }, Capabilities{})
}
