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
)

// The short form compares the ratios of small data sets with recorded ones. It
// is there for gross mistakes: a row fails only if it was worse than grossly
// times its record in the median of shortPairs, and then again.
const (
	grossly    = 2.0
	shortPairs = 3
	shortTries = 3
	recordFile = "scripts/bench/recorded.json"
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

// ratios are what is recorded of a row: lace over the copy.
type ratios struct {
	CPU     float64 `json:"cpu"`
	Written float64 `json:"written"`
}

// shortBench is `bench short`. It looks at CPU time and bytes, which other
// work on the machine changes little; wall times of small runs are mostly the
// waits for a disk that others use too, and are shown alone.
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
		fmt.Fprintf(out, "%-9s lace/copy: CPU %.2f (recorded %.2f), written %.2f (recorded %.2f), wall %.2f\n", name, got.CPU, want.CPU, got.Written, want.Written, wall)
		if got.CPU <= grossly*want.CPU && got.Written <= grossly*want.Written {
			return nil
		}
		last = got
	}
	return fmt.Errorf("%s: %d times in turn more than %.0f times the record: CPU %.2f of the copy's, recorded %.2f; written %.2f, recorded %.2f",
		name, shortTries, grossly, last.CPU, want.CPU, last.Written, want.Written)
}

// ratio measures some pairs and returns the ratios of their medians.
func (b *bench) ratio(ctx context.Context, what compaction) (r ratios, wall float64, err error) {
	o, err := b.pairs(ctx, what, shortPairs)
	if err != nil {
		return r, 0, err
	}
	cpu := func(m measured) float64 { return m.cpu.Seconds() }
	written := func(m measured) float64 { return float64(m.written) }
	r.CPU = median(o.lace, cpu) / median(o.copy, cpu)
	if w := median(o.copy, written); w > 0 {
		r.Written = median(o.lace, written) / w
	}
	return r, spreadOf(o.ratios).median, nil
}
