package compacttest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// rowless is a profile whose rows can neither be published nor reloaded; every
// call of it but that of its directory fails the test.
type rowless struct{ compact.Profile }

func (rowless) Dir() string { return "/root" }

// twofold is a profile whose rows are both.
type twofold struct {
	compact.Publisher
	reload
}

func (twofold) Dir() string { return "/root" }

type reload interface {
	Reload(ctx context.Context, plan compact.Reload) (compact.Reloaded, error)
	ReloadNeed(rows uint64) (uint64, error)
}

// TestRowsAreAFileOrADatabase: a profile that is neither a Publisher nor a
// Reloader, or both, is refused before anything is looked at.
func TestRowsAreAFileOrADatabase(t *testing.T) {
	table := &rowlog.Table{}
	plan, err := compact.NewPlan(table, kept.New(0), compact.DefaultJournalSize)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]compact.Profile{"neither": rowless{}, "both": twofold{}} {
		if _, err := compact.Run(t.Context(), p, plan, compact.Options{}); !errors.Is(err, store.Integration) {
			t.Errorf("%s: run: %v", name, err)
		}
		if _, err := compact.Resume(t.Context(), p, table, compact.Files{State: true}, compact.Options{}); !errors.Is(err, store.Integration) {
			t.Errorf("%s: resume: %v", name, err)
		}
	}
}
