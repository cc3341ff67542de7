package node

import (
	"context"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/bootstrap"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
)

// Create opens the root dir for writing, making it first when it is absent,
// and finishing it when an earlier making was interrupted before the first
// record. A directory that holds anything else is refused untouched.
func Create(ctx context.Context, dir string, opts profile.Options) (*Store, error) {
	if opts.ReadOnly || opts.Capacity != 0 {
		return nil, &store.Error{
			Kind: store.Integration, Doing: "create", Root: dir,
			Found: "read-only options, or a capacity", Want: "neither: the arena of a Node root grows with its records",
		}
	}
	if err := bootstrap.Make(dir, root.Node, opts); err != nil {
		return nil, err
	}
	o, err := ownMarked(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	if err := o.initialize(); err != nil {
		return nil, o.finish(err)
	}
	s, err := o.open(ctx, opts, false)
	if err != nil {
		return nil, o.finish(err)
	}
	s.releaseOnClose = true
	return s, nil
}

// initialize makes record-log and records, in the order that lets an
// interrupted making be told from a damaged root: the log is durable before
// there is an arena.
func (o *ownership) initialize() error {
	if err := bootstrap.RefuseCompactionFiles(o.fs, o.dir); err != nil {
		return err
	}
	t, err := o.look()
	if err != nil {
		return err
	}
	if err := t.damage(o.dir); err != nil {
		return err
	}
	if err := bootstrap.Touch(o.fs, o.dir, root.RecordLog); err != nil {
		return err
	}
	// Without this, a power cut could leave an arena without a log.
	if err := o.fs.SyncDir(o.dir); err != nil {
		return root.IOError("sync directory", o.dir, o.dir, err)
	}
	return bootstrap.Touch(o.fs, o.dir, root.Records)
}

// flush makes every file of the root durable, whoever wrote it, and then their
// entries: an opener that was interrupted may have left any of it unsynced.
// Every writer's opening does so before it trusts what it finds (seed 002). The
// sentinel was synced when it was made.
func (o *ownership) flush() error {
	for _, name := range []string{root.RecordLog, root.Records} {
		if err := bootstrap.Touch(o.fs, o.dir, name); err != nil {
			return err
		}
	}
	if err := o.fs.SyncDir(o.dir); err != nil {
		return root.IOError("sync directory", o.dir, o.dir, err)
	}
	return nil
}

// truth is what of a root is there: the lengths of its files in bytes, below
// zero for one that is absent.
type truth struct{ log, arena int64 }

func (o *ownership) look() (truth, error) {
	sizes := [2]int64{-1, -1}
	for i, name := range []string{root.RecordLog, root.Records} {
		info, err := bootstrap.StatIfPresent(o.fs, o.dir, name)
		if err != nil {
			return truth{}, err
		}
		if info != nil {
			sizes[i] = info.Size
		}
	}
	return truth{log: sizes[0], arena: sizes[1]}, nil
}

// damage says that a file is lost whose other has something. A Node.js program
// makes the entries of both durable at once, so that one of two files without a
// byte may be missing.
func (t truth) damage(dir string) error {
	switch {
	case t.log < 0 && t.arena > 0:
		return root.Corrupt(dir, "", "", "no "+root.RecordLog+" beside an arena", "both")
	case t.log > 0 && t.arena <= 0:
		return root.Corrupt(dir, "", "", "no bytes in "+root.Records+" beside a "+root.RecordLog+" with rows", "both")
	}
	return nil
}

// requireTruth tells a root whose making was interrupted from one that lost
// its log or its arena.
func (o *ownership) requireTruth() error {
	t, err := o.look()
	if err != nil {
		return err
	}
	if err := t.damage(o.dir); err != nil {
		return err
	}
	if t.log < 0 || t.arena < 0 {
		return bootstrap.Unfinished(o.dir)
	}
	return nil
}
