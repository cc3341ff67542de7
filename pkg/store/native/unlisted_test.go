package native_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// A log that lost rows must not make a compaction release the bytes of their
// records, whatever the policies say.
func TestRecordsBehindTheLogAreNotReleasedUnasked(t *testing.T) {
	for name, keepRows := range map[string]int64{"no row left": 0, "half of the rows": 20} {
		t.Run(name, func(t *testing.T) {
			c := newCompactable(t)
			if err := os.Truncate(filepath.Join(c.dir, root.RecordLog), keepRows*rowlog.RowLen); err != nil {
				t.Fatal(err)
			}
			all := func(_ context.Context, b store.Backend) (*kept.Set, error) {
				set := kept.New(store.Position(keepRows))
				for i := range uint64(keepRows) {
					set.Add(rowlog.ID(i))
				}
				return set, nil
			}
			arena := filepath.Join(c.dir, root.Records)
			before, err := os.ReadFile(arena)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := native.Compact(t.Context(), c.dir, c.options(), all); !errors.Is(err, store.Guarded) && !errors.Is(err, store.NotRoot) && !errors.Is(err, store.CorruptStore) {
				t.Fatalf("compaction of a root whose log lost rows: %v", err)
			}
			after, err := os.ReadFile(arena)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, after) {
				t.Error("the arena was changed")
			}
			opts := c.options()
			opts.DiscardUnlisted = true
			report, err := native.Compact(t.Context(), c.dir, opts, all)
			if err != nil {
				t.Fatalf("told to discard: %v", err)
			}
			if report.Outcome != compact.NothingToDo || report.Release != compact.Punched {
				t.Errorf("outcome %s, release %s", report.Outcome, report.Release)
			}
		})
	}
}
