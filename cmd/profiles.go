package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/node"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
)

// profiles lists the physical profiles that this tool knows. The first is the
// one of a new root. One that the build lacks refuses its roots itself.
func profiles() []profile.Profile {
	return []profile.Profile{native.Profile{}, lmdb.Profile{}, node.Profile{}}
}

// profileWord is the name of a profile in flags and documents.
func profileWord(p profile.Profile) string { return strings.ToLower(p.Name()) }

// profileWords lists the profiles that this build serves.
func profileWords() []string {
	var words []string
	for _, p := range profiles() {
		if p.Name() == root.LMDB && !lmdb.Built {
			continue
		}
		words = append(words, profileWord(p))
	}
	return words
}

// place is a root whose directory and profile are known. Nothing is locked.
type place struct {
	dir     string
	profile profile.Profile
}

// word is the name of the profile as documents have it.
func (p place) word() string { return profileWord(p.profile) }

// examine looks at the root; damage in its rows is an error.
func (p place) examine(ctx context.Context, opts profile.Options) (profile.Examination, error) {
	x, err := p.profile.Examine(ctx, p.dir, opts)
	if err == nil && x.Damage() != nil {
		return nil, errors.Join(x.Damage(), x.Close())
	}
	return x, err
}

// locate resolves a root and reads from its marker which profile it has.
func (s *session) locate(name string, lock lockOptions) (place, error) {
	dir, err := s.resolveRoot(name, lock)
	if err != nil {
		return place{}, err
	}
	found, err := root.Detect(s.fs, dir)
	if err != nil {
		return place{}, err
	}
	for _, p := range profiles() {
		if p.Name() == found {
			at := place{dir, p}
			s.logPlace(at)
			return at, nil
		}
	}
	return place{}, &store.Error{
		Kind: store.Unsupported, Doing: "open", Root: name,
		Found: "a root of the " + found + " profile, which this build does not serve",
		Want:  strings.Join(profileWords(), ", "),
	}
}

// profileNamed finds a profile by its word in a flag.
func profileNamed(word string) (profile.Profile, error) {
	for _, p := range profiles() {
		if profileWord(p) == word {
			return p, nil
		}
	}
	return nil, &usageError{fmt.Errorf("--profile %q: want one of %s", word, strings.Join(profileWords(), ", "))}
}

// placeToCreate is where a root is made, with the profile word; empty is that
// of the root which is there already, or the first one.
func (s *session) placeToCreate(dir, word string) (place, error) {
	found, err := root.Detect(s.fs, dir)
	if err != nil && !errors.Is(err, store.NotRoot) {
		return place{}, err
	}
	there := strings.ToLower(found)
	switch {
	case err == nil && word == "":
		word = there
	case err == nil && word != there:
		return place{}, &usageError{fmt.Errorf("--profile %s: %s is a root of the %s profile already", word, dir, there)}
	case word == "":
		word = profileWords()[0]
	}
	p, err := profileNamed(word)
	return place{dir, p}, err
}
