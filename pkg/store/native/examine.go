package native

import (
	"context"
	"errors"

	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/examine"
)

// Examine owns the root dir for reading and loads its row table. Damage in the
// rows is an error.
func Examine(ctx context.Context, dir string, opts Options) (*examine.Examination, error) {
	x, err := ExamineDamaged(ctx, dir, opts)
	if err == nil && x.Damage() != nil {
		return nil, errors.Join(x.Damage(), x.Close())
	}
	return x, err
}

// ExamineDamaged is Examine for those who want to look at damage as well.
func ExamineDamaged(ctx context.Context, dir string, opts Options) (*examine.Examination, error) {
	opts.ReadOnly = true
	own, err := Own(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	return examine.Open(examine.Config{
		FS: own.fs, Dir: dir, RequireTruth: own.requireTruth, CheckArena: arena.CheckCapacity,
		Release: func(err error) error { return errors.Join(err, own.Release()) },
	})
}
