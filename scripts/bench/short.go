package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// The short form compares ratios of small data sets with recorded ones. It is
// there for gross mistakes: a row fails only if it was worse than grossly times
// its record in the median of shortPairs, and then again.
const (
	grossly    = 2.0
	shortPairs = 3
	shortTries = 3
	recordFile = "scripts/bench/recorded.json"
	// shortMessages is how many messages the yardstick of CPU time hashes: about
	// as much work as the compactions are.
	shortMessages = 200_000
)

// shortCases are the compactions of the short form and their share of the
// records.
var shortCases = []struct {
	set, choice string
	scale       float64
}{
	{"D1", "half", 1. / 10},
	{"D1", "drop5", 1. / 20},
	{"D2", "half", 1. / 20},
	{"D3", "half", 1. / 20},
}

// ratios are what is recorded of a row.
type ratios struct {
	CPU     float64 `json:"cpu"`     // over that of hashing shortMessages
	Written float64 `json:"written"` // bytes, over those retained
}

// shortBench is `bench short`. It looks at CPU time and bytes, which other
// work on the machine changes little; wall times of small runs are mostly the
// waits for a disk that others use too, and are shown alone. CPU time is
// compared with that of hashing, not of the copy: the copy's is mostly the
// system's, for fresh pages of a second file, and changes severalfold with how
// the machine hands out memory; lace writes to pages that are there.
func shortBench(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench short", flag.ContinueOnError)
	dir := flags.String("dir", "tmp/bench-short", "where roots are made; it is removed")
	record := flags.Bool("record", false, "write "+recordFile+" instead of comparing with it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := newBench(ctx, *dir, os.Stderr)
	if err != nil {
		return err
	}
	err = b.short(ctx, *record, out)
	return errors.Join(err, os.RemoveAll(*dir))
}

func (b *bench) short(ctx context.Context, record bool, out io.Writer) error {
	recorded := map[string]ratios{}
	if !record {
		raw, err := os.ReadFile(filepath.FromSlash(recordFile))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &recorded); err != nil {
			return fmt.Errorf("%s: %w", recordFile, err)
		}
	}
	var slow error
	for _, c := range shortCases {
		set, _ := datasetNamed(c.set)
		choice, _ := choiceNamed(c.choice)
		name := c.set + "-" + c.choice
		what := compaction{set: set.scaled(c.scale), choice: choice}
		if record {
			got, _, err := b.ratio(ctx, what)
			if err != nil {
				return err
			}
			recorded[name] = got
			continue
		}
		want, ok := recorded[name]
		if !ok {
			return fmt.Errorf("%s has no %s: record it with bench short --record", recordFile, name)
		}
		slow = errors.Join(slow, b.compare(ctx, what, name, want, out))
	}
	if !record {
		return slow
	}
	raw, err := json.MarshalIndent(recorded, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.FromSlash(recordFile), append(raw, '\n'), 0o666)
}

// compare fails when a row is grossly worse than its record every time.
func (b *bench) compare(ctx context.Context, what compaction, name string, want ratios, out io.Writer) error {
	var last ratios
	for range shortTries {
		got, wall, err := b.ratio(ctx, what)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-9s CPU/hashing %.2f (recorded %.2f), written/retained %.2f (recorded %.2f), wall %.2f s\n", name, got.CPU, want.CPU, got.Written, want.Written, wall)
		if got.CPU <= grossly*want.CPU && got.Written <= grossly*want.Written {
			return nil
		}
		last = got
	}
	return fmt.Errorf("%s: %d times in turn more than %.0f times the record: CPU %.2f of that of hashing, recorded %.2f; written %.2f of the retained bytes, recorded %.2f",
		name, shortTries, grossly, last.CPU, want.CPU, last.Written, want.Written)
}

// ratio measures compactions and hashing in turns, and returns the ratios of
// their medians.
func (b *bench) ratio(ctx context.Context, what compaction) (r ratios, wall float64, err error) {
	source, err := b.make(ctx, what.set)
	if err != nil {
		return r, 0, err
	}
	keep := filepath.Join(b.dir, "kept")
	retained, err := keepFile(source, what.choice, keep)
	if err != nil {
		return r, 0, err
	}
	var lace, hashing []measured
	for range shortPairs {
		if err := b.side(ctx, source, what.cold, &lace, b.laceCompact(keep)); err != nil {
			return r, 0, err
		}
		m, err := measure(ctx, command{name: b.self, args: []string{"hash", strconv.Itoa(shortMessages)}})
		if err != nil {
			return r, 0, err
		}
		hashing = append(hashing, m)
	}
	cpu := func(m measured) float64 { return m.cpu.Seconds() }
	r.CPU = median(lace, cpu) / median(hashing, cpu)
	r.Written = median(lace, func(m measured) float64 { return float64(m.written) / float64(retained) })
	return r, median(lace, func(m measured) float64 { return m.wall.Seconds() }), os.Remove(keep)
}
