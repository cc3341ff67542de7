package compacttest

import (
	"context"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// Settings are how one run compacts.
type Settings struct {
	Journal uint64
	Run     compact.Options
}

// Subject is a profile under test. Its roots have the entries of package root.
type Subject interface {
	// Build makes a durable root at dir, whose parent exists, out of records.
	// It has an index directory.
	Build(fsys vfs.FS, dir string, records [][]byte) error
	// Compact is the profile's entry with a set that is chosen already; a root
	// with a state is resumed.
	Compact(ctx context.Context, fsys vfs.FS, dir string, set *kept.Set, s Settings) (compact.Report, error)
	// Resume is the profile's entry without a set.
	Resume(ctx context.Context, fsys vfs.FS, dir string, s Settings) (compact.Report, error)
	// Open opens the root as anyone would, reads every record by id and
	// checks its full hash, and closes it.
	Open(ctx context.Context, fsys vfs.FS, dir string) error
}
