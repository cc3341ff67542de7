package cmd

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
)

// sizeFlag is a flag that takes a number of bytes, with or without a unit.
type sizeFlag struct{ bytes uint64 }

func (f *sizeFlag) String() string { return strconv.FormatUint(f.bytes, 10) }
func (f *sizeFlag) Type() string   { return "size" }
func (f *sizeFlag) Set(text string) error {
	n, err := ui.ParseSize(text)
	if err == nil {
		f.bytes = n
	}
	return err
}

// rateFlag is a flag that takes a number of bytes a second: a size, "/s" behind
// it or not; 0 is no limit.
type rateFlag struct{ perSecond uint64 }

func (f *rateFlag) String() string { return strconv.FormatUint(f.perSecond, 10) }
func (f *rateFlag) Type() string   { return "SIZE/s" }
func (f *rateFlag) Set(text string) error {
	n, err := ui.ParseSize(strings.TrimSuffix(text, "/s"))
	if err == nil {
		f.perSecond = n
	}
	return err
}

// paceOptions are the flags of the commands that move records.
type paceOptions struct{ limit rateFlag }

func (o *paceOptions) addFlags(c *cobra.Command) {
	c.Flags().Var(&o.limit, "io-limit", "most bytes a second that moving records reads and writes, like 50MiB/s (0: no limit)")
}

// lockOptions are the flags of every command that works on a root, and so takes
// its lifetime lock.
type lockOptions struct {
	wait           time.Duration
	allowNetworkFS bool
	io             ioClassOption
}

func (o *lockOptions) addFlags(c *cobra.Command) {
	c.Flags().DurationVar(&o.wait, "lock-wait", 0, "wait this long for a root that is open elsewhere")
	c.Flags().BoolVar(&o.allowNetworkFS, "allow-network-fs", false, "work on file systems whose locks are not dependable (NFS, SMB)")
	o.io.addFlag(c)
}

// openOptions says how a root is opened.
func (o *lockOptions) openOptions(s *session) profile.Options {
	return profile.Options{
		FS:       s.fs,
		LockWait: o.wait,
		Waiting:  func(what string) { s.log.Infof("waiting for %s", what) },
	}
}

// guardOptions are the flags that keep a mistake in a policy from removing
// what nobody meant to remove.
type guardOptions struct {
	maxRemoved   string
	minReleased  string
	allowEmpty   bool
	expectDigest string
}

func (o *guardOptions) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.maxRemoved, "max-removed", "90%", "refuse to remove more than this `N|P%` of the records")
	c.Flags().StringVar(&o.minReleased, "min-released", "", "change nothing when less than this `SIZE|P%` would be released")
	c.Flags().BoolVar(&o.allowEmpty, "allow-empty", false, "allow a run that retains nothing")
	c.Flags().StringVar(&o.expectDigest, "expect-digest", "", "refuse any kept set but the one with this digest (`HEX`), as a preview printed it")
}

// validate checks the forms of the flags before anything is opened.
func (o *guardOptions) validate() error {
	if _, err := amount(o.maxRemoved, 0, parseCount); err != nil {
		return &usageError{fmt.Errorf("--max-removed: %w", err)}
	}
	if o.minReleased != "" {
		if _, err := amount(o.minReleased, 0, ui.ParseSize); err != nil {
			return &usageError{fmt.Errorf("--min-released: %w", err)}
		}
	}
	if b, err := hex.DecodeString(o.expectDigest); err != nil || len(b) != 32 && o.expectDigest != "" {
		return &usageError{fmt.Errorf("--expect-digest %q is not 64 hexadecimal digits", o.expectDigest)}
	}
	return nil
}

func parseCount(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

// amount reads an absolute number, or a percentage of whole.
func amount(text string, whole uint64, absolute func(string) (uint64, error)) (uint64, error) {
	percent, isPercent := strings.CutSuffix(text, "%")
	if !isPercent {
		return absolute(text)
	}
	p, err := strconv.ParseFloat(percent, 64)
	if err != nil || !(p >= 0 && p <= 100) { // NaN is none
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", text)
	}
	if p == 100 {
		return whole, nil
	}
	return uint64(p / 100 * float64(whole)), nil
}

// errNotWorth ends a run that would release too little; it is no failure.
var errNotWorth = fmt.Errorf("less than --min-released would be released")

// approve returns the guards as a check of the plan, before anything changes.
func (o *guardOptions) approve(root string) func(*compact.Plan) error {
	refuse := func(found, want, hint string) error {
		return &store.Error{Kind: store.Guarded, Doing: "compact", Root: root, Found: found, Want: want, Hint: "nothing was changed; " + hint}
	}
	return func(p *compact.Plan) error {
		all := p.Retained.Records + p.Removed.Records
		limit, err := amount(o.maxRemoved, all, parseCount)
		if err != nil {
			return &usageError{err}
		}
		digest := fmt.Sprintf("%x", p.Digest)
		switch {
		case o.expectDigest != "" && !strings.EqualFold(o.expectDigest, digest):
			return refuse("kept set "+digest, o.expectDigest, "preview again with lace sweep --dry-run")
		case p.Retained.Records == 0 && all > 0 && !o.allowEmpty:
			return refuse("a kept set that retains nothing", "at least one record", "check the policies with lace sweep --dry-run, or say --allow-empty")
		case p.Removed.Records > limit:
			return refuse(fmt.Sprintf("%d of %d records would be removed", p.Removed.Records, all), fmt.Sprintf("at most %d (--max-removed %s)", limit, o.maxRemoved),
				"check the policies with lace sweep --dry-run, or raise --max-removed")
		}
		if o.minReleased == "" || p.KeepsAll() {
			return nil
		}
		least, err := amount(o.minReleased, p.Header.OldEnd, ui.ParseSize)
		if err != nil {
			return &usageError{err}
		}
		if p.Removed.Bytes < least {
			return errNotWorth
		}
		return nil
	}
}
