//go:build !cgo

package lmdb

import (
	"context"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
)

// Built says whether this build has LMDB.
const Built = false

// Profile knows the profile by name, in a build without cgo.
type Profile struct{}

var _ profile.Profile = Profile{}

// Name implements profile.Profile.
func (Profile) Name() string { return root.LMDB }

// Create implements profile.Profile. It is Unsupported.
func (Profile) Create(_ context.Context, dir string, _ profile.Options) (profile.Store, error) {
	return nil, without("create", dir)
}

// Open implements profile.Profile. It is Unsupported.
func (Profile) Open(_ context.Context, dir string, _ profile.Options) (profile.Store, error) {
	return nil, without("open", dir)
}

// Examine implements profile.Profile. It is Unsupported.
func (Profile) Examine(_ context.Context, dir string, _ profile.Options) (profile.Examination, error) {
	return nil, without("open", dir)
}

// Compact implements profile.Profile. It is Unsupported.
func (Profile) Compact(_ context.Context, dir string, _ profile.CompactOptions, _ profile.Choose) (compact.Report, error) {
	return compact.Report{}, without("compact", dir)
}

// Resume implements profile.Profile. It is Unsupported.
func (Profile) Resume(_ context.Context, dir string, _ profile.CompactOptions) (compact.Report, error) {
	return compact.Report{}, without("resume", dir)
}

func without(doing, dir string) error {
	return &store.Error{
		Kind: store.Unsupported, Doing: doing, Root: dir, Found: "this lace was built without LMDB",
		Hint: "build it with cgo (CGO_ENABLED=1 and a C compiler)",
	}
}
