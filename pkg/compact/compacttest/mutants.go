package compacttest

import (
	"errors"
	"io"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
)

// Mutants are wrong protocols of a compaction and its resume that the matrix
// must catch.
func Mutants() []Mutant {
	all := append(omissions(), disorder()...)
	return append(all, misrecoveries()...)
}

// omissions leave out every sync in turn.
func omissions() []Mutant {
	var all []Mutant
	for _, c := range []struct{ name, breaks string }{
		{root.Plan, "a plan that a state makes believed is torn"},
		{root.State, "the cursor is torn"},
		{root.Journal, "the rows that a batch overwrites are in no whole copy"},
		{root.RecordLog, "the published table is torn"},
	} {
		// Only one state in ten thousand needs a durable cursor.
		first := map[string]uint64{root.State: 98}[c.name]
		all = append(all,
			Mutant{Name: c.name + " not synced", Breaks: c.breaks, Start: omit(syncOf(c.name + vfs.TempSuffix))},
			Mutant{Name: "directory not synced after the rename of " + c.name, Breaks: "what follows acts on a file that may not be there", Start: omitSyncDir(faultfs.Rename, c.name), First: first},
		)
	}
	// A plan that is renamed before its sync does no harm: the state, which makes
	// it believed, comes after both.
	for _, name := range []string{root.State, root.Journal, root.RecordLog} {
		all = append(all, Mutant{Name: name + " renamed before its sync", Breaks: "the name is durable before the bytes", Start: renamedFirst(name)})
	}
	for _, c := range []struct{ name, breaks string }{
		{root.State, "the plan goes first, and the state that stays is CorruptStore"},
		{root.Plan, "a finished root asks for a resume again"},
	} {
		all = append(all, Mutant{Name: "directory not synced after the removal of " + c.name, Breaks: c.breaks, Start: omitSyncDir(faultfs.Remove, c.name)})
	}
	return append(all,
		Mutant{Name: "records not synced", Breaks: "the cursor counts rows that are not on the disk", Start: omit(syncOf(root.Records))},
		Mutant{Name: "hole not synced", Breaks: "the tail is not given back, and nothing is left that would", Start: holeNotSynced},
		Mutant{Name: "directory not synced at the start of a resume", Breaks: "rule 1: a state that was only renamed is acted on", Start: omitSyncDir("", "")},
		Mutant{Name: "nothing synced", Breaks: "everything", Start: omit(func(s Step) bool { return s.Op == faultfs.Sync || s.Op == faultfs.SyncDir })},
	)
}

func holeNotSynced(vfs.FS) Tamperer {
	punched := false
	return func(s Step, do func() error) error {
		punched = punched || s.Op == faultfs.Punch || s.Is(faultfs.Truncate, root.Records)
		if punched && s.Is(faultfs.Sync, root.Records) {
			return nil
		}
		return do()
	}
}

// disorder does every step, but not in the order of durability.
func disorder() []Mutant {
	renamed := func(name string) func(Step) bool { return on(faultfs.Rename, name) }
	removed := func(name string) func(Step) bool { return on(faultfs.Remove, name) }
	arenaSynced := syncOf(root.Records)
	return []Mutant{
		{Name: "cursor published before the sync of the rows", Breaks: "the cursor counts rows that are not on the disk", Start: late(arenaSynced, renamed(root.State))},
		{Name: "cursor published after the next batch", Breaks: "a destination write precedes the durable cursor of its batch", Start: late(renamed(root.State), func(s Step) bool { return arenaSynced(s) || s.Is(faultfs.Rename, root.RecordLog) })},
		{Name: "state before the plan", Breaks: "a state without a plan is CorruptStore", Start: first(renamed(root.Plan), writeFirstState)},
		{Name: "no state before the first batch", Breaks: "rows move in a root that counts as consistent", Start: firstStateOmitted},
		{Name: "journal after the rows", Breaks: "the journal is durable before the first destination write", Start: late(renamed(root.Journal), arenaSynced)},
		{Name: "no journal", Breaks: "overlapping rows have one copy, which is written over", Start: noJournal},
		{Name: "overlap off by one", Breaks: "the last overlapping row is not journaled", Start: first(renamed(root.Journal), dropLastJournaled), First: 17},
		{Name: "plan removed before the state", Breaks: "a state without a plan is CorruptStore", Start: first(removed(root.State), func(base vfs.FS, _ Step) error { return durablyRemove(base, root.Plan) })},
		{Name: "state removed before the log is published", Breaks: "the old table names moved rows, and nothing resumes", Start: first(renamed(root.RecordLog), func(base vfs.FS, _ Step) error { return durablyRemove(base, root.State) })},
		{Name: "state removed before its replacement", Breaks: "a moment without a cursor", Start: first(renamed(root.State), func(base vfs.FS, _ Step) error { return durablyRemove(base, root.State) })},
		{Name: "record-log removed before its replacement", Breaks: "a moment without a table", Start: first(renamed(root.RecordLog), func(base vfs.FS, _ Step) error { return durablyRemove(base, root.RecordLog) })},
		{Name: "state written in place", Breaks: "a replace is whole at every moment", Start: inPlace(root.State)},
		{Name: "record-log written in place", Breaks: "a replace is whole at every moment", Start: inPlace(root.RecordLog)},
		{Name: "indexes removed after the state", Breaks: "posting lists that name old ids are believed", Start: late(inIndexes, removed(root.State))},
		{Name: "tail released after the state is gone", Breaks: "nothing resumes the release", Start: releasedLast},
		{Name: "tail released before the last cursor", Breaks: "the old places of a batch go before it is durable", Start: releasedEarly, First: 17},
		{Name: "failed sync of records retried", Breaks: "stop at the first failed sync: the next one says ok", Start: retried(arenaSynced)},
		{Name: "failed sync of a temporary retried", Breaks: "a temporary whose sync failed is made anew", Start: retried(func(s Step) bool { return s.Op == faultfs.Sync && isTemporary(s) })},
		{Name: "failed syncs ignored", Breaks: "stop at the first failed sync", Start: ignoredSyncs},
	}
}

func inIndexes(s Step) bool {
	return s.Op == faultfs.Remove && len(s.Name) >= len(root.Indexes) && s.Name[:len(root.Indexes)] == root.Indexes
}

// releasedLast gives the tail back when the files of the compaction are gone.
func releasedLast(vfs.FS) Tamperer {
	var held []func() error
	return func(s Step, do func() error) error {
		released := s.Op == faultfs.Punch || s.Is(faultfs.Truncate, root.Records)
		if released || len(held) > 0 && s.Is(faultfs.Sync, root.Records) {
			held = append(held, do)
			return nil
		}
		err := do()
		if s.Is(faultfs.Remove, root.Plan) {
			for _, call := range held {
				if e := call(); !errors.Is(e, vfs.ErrUnsupported) {
					err = errors.Join(err, e)
				}
			}
		}
		return err
	}
}

func writeFirstState(base vfs.FS, _ Step) error {
	return vfs.Replace(base, Dir, root.State, func(w io.Writer) error {
		_, err := w.Write(format.State{Phase: format.Move}.AppendTo(nil))
		return err
	})
}

// firstStateOmitted leaves the state of step B out.
func firstStateOmitted(base vfs.FS) Tamperer {
	moved := false
	return func(s Step, do func() error) error {
		moved = moved || s.Is(faultfs.Write, root.Records)
		if s.Is(faultfs.Rename, root.State) && !moved && !present(base, root.State) {
			return base.Remove(at(root.State + vfs.TempSuffix))
		}
		return do()
	}
}

func noJournal(base vfs.FS) Tamperer {
	return func(s Step, do func() error) error {
		if s.Is(faultfs.Rename, root.Journal) {
			return base.Remove(at(root.Journal + vfs.TempSuffix))
		}
		return do()
	}
}

// releasedEarly gives the tail back when the last row is written, before that
// is synced.
func releasedEarly(base vfs.FS) Tamperer {
	written := int64(0)
	return func(s Step, do func() error) error {
		if s.Is(faultfs.Write, root.Records) {
			written = s.Off + int64(len(s.Data))
		}
		if !s.Is(faultfs.Sync, root.Records) {
			return do()
		}
		plan, err := readPlan(base)
		if err != nil || len(plan) == 0 || written != int64(plan[len(plan)-1].EndNew()) {
			return errors.Join(err, do())
		}
		return errors.Join(releaseFrom(base, written), do())
	}
}

func releaseFrom(base vfs.FS, end int64) error {
	f, err := base.OpenFile(at(root.Records), vfs.ReadWrite)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && end < info.Size {
		err = f.PunchHole(end, info.Size-end)
	}
	if errors.Is(err, vfs.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

func ignoredSyncs(vfs.FS) Tamperer {
	return func(s Step, do func() error) error {
		err := do()
		if s.Op == faultfs.Sync && !crashed(err) {
			return nil
		}
		return err
	}
}
