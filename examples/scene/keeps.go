package scene

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/sweep"
)

// Keeps runs policies over the scene and returns the names of the records that
// they retain, in order of admission. It runs them with several sizes of the
// window; that these agree is part of what it checks.
func (s *Scene) Keeps(p *policy.Prepared) (names []string, err error) {
	for i, window := range []uint64{0, 1, 3} {
		kept, err := s.sweep(p, window)
		if err != nil {
			return nil, err
		}
		if i > 0 && !slices.Equal(kept, names) {
			return nil, fmt.Errorf("one window keeps %q, windows of %d keep %q", names, window, kept)
		}
		names = kept
	}
	return names, nil
}

func (s *Scene) sweep(p *policy.Prepared, window uint64) (names []string, err error) {
	b, err := s.Store()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	result, err := sweep.Run(context.Background(), b, p, sweep.Options{WindowRecords: window})
	if err != nil {
		return nil, err
	}
	for id := range result.Kept.IDs() {
		names = append(names, s.Names[id-1])
	}
	return names, nil
}
