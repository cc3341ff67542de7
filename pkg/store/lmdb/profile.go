//go:build cgo

package lmdb

import (
	"context"

	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
)

// Built says whether this build has LMDB.
const Built = true

// Profile offers this package as one of the profiles of a build.
type Profile struct{ hooks hooks }

var _ profile.Profile = Profile{}

// Name implements profile.Profile.
func (Profile) Name() string { return root.LMDB }

// Create implements profile.Profile.
func (p Profile) Create(ctx context.Context, dir string, opts profile.Options) (profile.Store, error) {
	return opened(p.create(ctx, dir, opts))
}

// Open implements profile.Profile.
func (p Profile) Open(ctx context.Context, dir string, opts profile.Options) (profile.Store, error) {
	return opened(p.open(ctx, dir, opts))
}

// opened keeps a nil store from becoming an interface that is not nil.
func opened(s *Store, err error) (profile.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
