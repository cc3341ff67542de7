package native

import (
	"context"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
)

// Profile offers this package as one of the profiles of a build.
type Profile struct{}

var _ profile.Profile = Profile{}

// Name implements profile.Profile.
func (Profile) Name() string { return root.Native }

// Create implements profile.Profile.
func (Profile) Create(ctx context.Context, dir string, opts Options) (profile.Store, error) {
	return opened(Create(ctx, dir, opts))
}

// Open implements profile.Profile.
func (Profile) Open(ctx context.Context, dir string, opts Options) (profile.Store, error) {
	return opened(Open(ctx, dir, opts))
}

// opened keeps a nil store from becoming an interface that is not nil.
func opened(s *Store, err error) (profile.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Examine implements profile.Profile.
func (Profile) Examine(ctx context.Context, dir string, opts Options) (profile.Examination, error) {
	x, err := ExamineDamaged(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Compact implements profile.Profile.
func (Profile) Compact(ctx context.Context, dir string, opts CompactOptions, choose Choose) (compact.Report, error) {
	return Compact(ctx, dir, opts, choose)
}

// Resume implements profile.Profile.
func (Profile) Resume(ctx context.Context, dir string, opts CompactOptions) (compact.Report, error) {
	return Resume(ctx, dir, opts)
}
