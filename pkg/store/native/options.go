package native

import (
	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/profile"
)

// CapacityVariable is the environment variable that overrides the capacity of
// a root at its creation.
const CapacityVariable = arena.CapacityVariable

// Options say how a root is opened; LookupEnv is asked for CapacityVariable.
type Options = profile.Options
