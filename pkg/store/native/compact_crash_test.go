package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/compact/compacttest"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// subject brings this profile to the crash matrix, through the entries that
// the command line uses.
type subject struct{}

var _ compacttest.Subject = subject{}

func (subject) Build(fsys vfs.FS, dir string, records [][]byte) error {
	s, err := native.Create(context.Background(), dir, native.Options{FS: fsys, Capacity: 1 << 20})
	if err != nil {
		return err
	}
	var op store.StoreRecords
	for _, rec := range records {
		h, err := record.ParseGlyphLine(rec)
		if err != nil {
			return err
		}
		op.Records = append(op.Records, store.NewRecord{Hash: h, Len: uint64(len(rec)), Body: bytes.NewReader(rec)})
	}
	if _, err := s.Execute(op); err != nil {
		return err
	}
	// Asked twice, a key is worth a posting list, which a compaction must
	// remove.
	for range 2 {
		find := store.FindRecords{
			Query:          store.Query{Constraints: []store.Constraint{{Shape: store.FieldExact, Name: ":Type", Value: "B"}}},
			UpperInclusive: store.Latest, MaxRows: store.Unbounded,
		}
		if _, err := s.Execute(find); err != nil {
			return err
		}
	}
	ended := s.MappingReleased()
	if err := s.Close(); err != nil {
		return err
	}
	for {
		select {
		case <-ended:
			return nil
		default:
			runtime.GC() // the results above are gone, but their owner is not yet
		}
	}
}

func compactOptions(fsys vfs.FS, s compacttest.Settings) native.CompactOptions {
	return native.CompactOptions{Open: native.Options{FS: fsys}, JournalSize: s.Journal, Run: s.Run}
}

func (subject) Compact(ctx context.Context, fsys vfs.FS, dir string, set *kept.Set, s compacttest.Settings) (compact.Report, error) {
	choose := func(_ context.Context, b store.Backend) (*kept.Set, error) {
		got, err := b.Execute(store.CurrentStorePosition{})
		if err == nil && got.(store.PositionResult).Position != set.Boundary() {
			err = fmt.Errorf("the store to choose from has position %v", got)
		}
		return set, err
	}
	return native.Compact(ctx, dir, compactOptions(fsys, s), choose)
}

func (subject) Resume(ctx context.Context, fsys vfs.FS, dir string, s compacttest.Settings) (compact.Report, error) {
	return native.Resume(ctx, dir, compactOptions(fsys, s))
}

func (subject) Open(ctx context.Context, fsys vfs.FS, dir string) (err error) {
	s, err := native.Open(ctx, dir, native.Options{FS: fsys})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for id := store.RecordID(1); store.Position(id) <= s.Position(); id++ {
		got, err := s.Execute(store.LoadRecordsByStoreID{Refs: []store.Ref{{ID: id}}})
		if err != nil {
			return err
		}
		rec := got.(store.LoadedResult).Records[0]
		if rec.ID != id {
			return fmt.Errorf("record #%d is missing", id)
		}
		if err := record.VerifyBytes(rec.Bytes, rec.Hash); err != nil {
			return fmt.Errorf("record #%d: %w", id, err)
		}
	}
	return nil
}

// TestCompactionSurvivesCrashes is the crash matrix of this profile.
func TestCompactionSurvivesCrashes(t *testing.T) {
	compacttest.Matrix(t, subject{}, compacttest.Options{First: 3 << 20, States: 2_000, Random: 4, Stride: 14})
}

// TestCompactionSurvivesSecondCrashes cuts the power at every call of the
// resume after a kill at every call.
func TestCompactionSurvivesSecondCrashes(t *testing.T) {
	compacttest.Matrix(t, subject{}, compacttest.Options{First: 4 << 20, States: 1_000, Stride: 40, EverySecond: true})
}

// TestEveryCallOfACompactionFails lets every call fail once. The error is of
// a kind, names the root, says how to go on once there is something to resume,
// and the next run finishes the work.
func TestEveryCallOfACompactionFails(t *testing.T) {
	shape := compacttest.Scripted([]int{0, 30, 300, 310, 320, 330, 600, 200, 210}, "k-kkkk-kk", 800)
	settings := compacttest.Settings{Journal: shape.Journal, Run: compact.Options{Buffer: 1 << 12, WorthGap: 600}}
	base := crashfs.New(crashfs.Options{ReleaseAtOnce: true})
	err := subject{}.Build(base, compacttest.Dir, shape.Records)
	if err = errors.Join(err, base.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	whole := faultfs.New(base.Clone(), compacttest.Dir)
	if _, err := (subject{}).Compact(t.Context(), whole, compacttest.Dir, shape.Set(), settings); err != nil {
		t.Fatal(err)
	}
	for k, call := range whole.Calls(faultfs.All) {
		if call.Err != nil || call.Op == faultfs.DropCache {
			continue
		}
		disk := base.Clone()
		fsys := faultfs.New(disk, compacttest.Dir)
		fault := fsys.Inject(faultfs.Fault{Match: faultfs.All, At: k + 1, Err: syscall.EIO, Short: 5})
		_, err := subject{}.Compact(t.Context(), fsys, compacttest.Dir, shape.Set(), settings)
		if fault.Fired() != 1 {
			t.Fatalf("%s: the fault did not fire", call)
		}
		checkRefusal(t, call, disk, err)
		if leaks := fsys.Leaks(); len(leaks) > 0 {
			t.Errorf("%s: leaks %q", call, leaks)
		}
		h := compacttest.Adopt(subject{}, shape, disk.Clone())
		if err := errors.Join(h.CheckOpen(), h.Finish()); err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func checkRefusal(t *testing.T, call faultfs.Call, fsys vfs.FS, err error) {
	t.Helper()
	if err == nil && (strings.HasPrefix(call.Path, root.Indexes) || call.Op == faultfs.Close && call.Path == root.ArenaLock) {
		return // posting lists are acceleration; a mapping cannot report the end of its lock
	}
	var known *store.Error
	if !errors.Is(err, syscall.EIO) || !errors.As(err, &known) || known.Root == "" {
		t.Errorf("%s: %v", call, err)
		return
	}
	found, lookErr := compact.Look(fsys, compacttest.Dir)
	if lookErr != nil {
		t.Fatal(lookErr)
	}
	if found.State && !strings.Contains(known.Hint, "lace resume "+compacttest.Dir) {
		t.Errorf("%s: %v, with the hint %q", call, err, known.Hint)
	}
}
