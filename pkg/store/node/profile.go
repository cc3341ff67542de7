package node

import (
	"context"
	"fmt"
	"math"

	"github.com/lace-store/lace/pkg/store/examine"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
)

// Profile offers this package as one of the profiles of a build.
type Profile struct{}

var _ profile.Profile = Profile{}

// Name implements profile.Profile.
func (Profile) Name() string { return root.Node }

// Create implements profile.Profile.
func (Profile) Create(ctx context.Context, dir string, opts profile.Options) (profile.Store, error) {
	return opened(Create(ctx, dir, opts))
}

// Open implements profile.Profile.
func (Profile) Open(ctx context.Context, dir string, opts profile.Options) (profile.Store, error) {
	return opened(Open(ctx, dir, opts))
}

// opened keeps a nil store from becoming an interface that is not nil.
func opened(s *Store, err error) (profile.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Examine implements profile.Profile. It writes nothing but the sentinel.
func (Profile) Examine(ctx context.Context, dir string, opts profile.Options) (profile.Examination, error) {
	opts.ReadOnly = true
	o, err := own(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	x, err := examine.Open(examine.Config{
		FS: o.fs, Dir: dir, RequireTruth: o.requireTruth, CheckArena: checkLength, Release: o.finish,
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// checkLength says why a length in bytes is none that an arena can have: every
// one is that a file can have.
func checkLength(n uint64) error {
	if n > math.MaxInt64 {
		return fmt.Errorf("%d bytes are more than a file has", n)
	}
	return nil
}
