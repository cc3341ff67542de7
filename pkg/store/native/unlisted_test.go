package native_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
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

// TestRefusedCompactionLeavesTheLog: what an opening repairs in the log is left
// as it is until nothing refuses any more, and then repaired.
func TestRefusedCompactionLeavesTheLog(t *testing.T) {
	refusal := errors.New("not this time")
	for name, spoil := range map[string]func(log []byte) []byte{
		"torn row": func(log []byte) []byte { return append(log, log[:rowlog.RowLen-1]...) },
		"lost row": func(log []byte) []byte { return append(log[:len(log)-rowlog.RowLen], make([]byte, rowlog.RowLen)...) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCompactable(t)
			log := filepath.Join(c.dir, root.RecordLog)
			edit(t, log, spoil)
			stale := filepath.Join(c.dir, root.Staging)
			if err := os.Mkdir(stale, 0o777); err != nil {
				t.Fatal(err)
			}
			opts := c.options()
			opts.Approve = func(*compact.Plan) error { return refusal }
			unchanged(t, c.dir, func() {
				if _, err := native.Compact(t.Context(), c.dir, opts, c.choose); !errors.Is(err, refusal) {
					t.Errorf("refused by its guard: %v", err)
				}
			})
			failing := func(context.Context, store.Backend) (*kept.Set, error) { return nil, refusal }
			unchanged(t, c.dir, func() {
				if _, err := native.Compact(t.Context(), c.dir, c.options(), failing); !errors.Is(err, refusal) {
					t.Errorf("without a choice: %v", err)
				}
				if report, err := native.Resume(t.Context(), c.dir, c.options()); err != nil || report.Outcome != compact.NothingToDo {
					t.Errorf("resume: %+v, %v", report, err)
				}
			})
			// All of it stays: no publication replaces the log.
			all := func(context.Context, store.Backend) (*kept.Set, error) {
				set := kept.New(40)
				for i := range uint64(40) {
					set.Add(rowlog.ID(i))
				}
				return set, nil
			}
			report, err := native.Compact(t.Context(), c.dir, c.options(), all)
			if err != nil || report.Outcome != compact.NothingToDo {
				t.Fatalf("%+v, %v", report, err)
			}
			if info, err := os.Stat(log); err != nil || info.Size() != 40*rowlog.RowLen {
				t.Errorf("the log has %d bytes (%v), want %d", info.Size(), err, 40*rowlog.RowLen)
			}
			if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("staged records stay: %v", err)
			}
		})
	}
}

func TestResumeReportsABadLog(t *testing.T) { subject.ResumeReportsABadLog(t) }

// TestRefusedCompactionLeavesLeftovers: files without a state stay while a guard,
// the choice, or a record that is alive may refuse.
func TestRefusedCompactionLeavesLeftovers(t *testing.T) {
	t.Parallel()
	subject.Refused(t, map[string]func(*testing.T, vfs.FS, string){"leftovers": profiletest.Leftovers})
	c := newCompactable(t)
	profiletest.Leftovers(t, c.fs, c.dir)
	var leaked store.Result
	unchanged(t, c.dir, func() {
		_, err := native.Compact(t.Context(), c.dir, c.options(), func(_ context.Context, b store.Backend) (set *kept.Set, err error) {
			leaked, err = b.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: 1}}})
			return c.shape.Set(), err
		})
		kind(t, err, store.Busy)
	})
	runtime.KeepAlive(leaked)
}
