package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// An error that does not say what to do next says it by what the root holds.
func TestNextStep(t *testing.T) {
	failed := func() error {
		return &store.Error{Kind: store.Store, Reason: store.NoSpace, Err: errors.New("no space")}
	}
	stopped := func() error { return &store.Error{Kind: store.Interrupted} }
	for _, c := range []struct {
		name  string
		file  string
		err   error
		hint  string
		match error
	}{
		{"failed, sound root", "", failed(), "", store.NoSpace},
		{"failed, leftover", "compaction-plan", failed(), "lace resume ", store.NoSpace},
		{"failed, interrupted root", "compaction-state", failed(), "lace resume ", store.NoSpace},
		{"stopped, sound root", "", stopped(), "nothing was changed", store.Interrupted},
		{"stopped, interrupted root", "compaction-state", stopped(), "lace resume ", store.Interrupted},
		{"with a hint of its own", "compaction-state", &store.Error{Kind: store.Store, Hint: "wait"}, "wait", store.Store},
		{"damaged", "compaction-state", &store.Error{Kind: store.CorruptStore}, "", store.CorruptStore},
		{"another error", "compaction-state", errors.New("other"), "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(dir, c.file), nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			s := &session{fs: osfs.New()}
			err := s.nextStep(c.err, dir, dir)
			if got := hintOf(err); c.hint == "" && got != "" || !strings.Contains(got, c.hint) {
				t.Errorf("the hint is %q, want %q", got, c.hint)
			}
			if c.match != nil && !errors.Is(err, c.match) || exitCode(err) != exitCode(c.err) {
				t.Errorf("%v has another kind than %v", err, c.err)
			}
		})
	}
}
