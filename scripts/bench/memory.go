package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// The roots whose compactions show what memory depends on: the number of rows,
// and neither the length of a record nor the journal size.
var (
	rowCounts     = []uint64{1_000_000, 2_000_000, 4_000_000}
	recordLengths = []int{1 << 10, 32 << 10, 1 << 20}
	journalSizes  = []string{"33MiB", "64MiB", "1GiB"} // the least holds one maximum record
)

// fewRecords is how many records the roots of long records have.
const fewRecords = 2000

// memory measures the peak of anonymous memory of compactions that keep half.
func (b *bench) memory(ctx context.Context, o allOptions) ([]section, error) {
	if !slices.Contains(o.rows, "memory") {
		return nil, nil
	}
	rows, err := b.memoryOfRows(ctx, o)
	if err != nil {
		return nil, err
	}
	lengths, err := b.memoryOfLengths(ctx, o)
	return []section{{"memory", rows + "\n" + lengths}}, err
}

// memoryOfRows is the growth with rows: between two sizes, what a row takes.
func (b *bench) memoryOfRows(ctx context.Context, o allOptions) (string, error) {
	var w strings.Builder
	w.WriteString("| records of 200 bytes | anonymous MiB (min-max) | bytes per row since the line above |\n|---|---|---|\n")
	before, at := 0.0, uint64(0)
	for _, n := range rowCounts {
		set := dataset{name: "rows", text: "records of 200 bytes", records: n, min: 200, max: 200, seed: 3}.scaled(o.scale)
		peak, err := b.peak(ctx, set, o)
		if err != nil {
			return "", err
		}
		perRow := "-"
		if at > 0 {
			perRow = fmt.Sprintf("%.1f", (peak.median-before)*(1<<20)/float64(set.records-at))
		}
		fmt.Fprintf(&w, "| %d | %.0f (%.0f-%.0f) | %s |\n", set.records, peak.median, peak.least, peak.most, perRow)
		before, at = peak.median, set.records
	}
	return w.String(), nil
}

// memoryOfLengths has records of very different lengths, and journals too.
func (b *bench) memoryOfLengths(ctx context.Context, o allOptions) (string, error) {
	var w strings.Builder
	fmt.Fprintf(&w, "| %d records of | journal size | anonymous MiB (min-max) |\n|---|---|---|\n", fewRecords)
	for _, length := range recordLengths {
		set := dataset{name: fmt.Sprintf("length%d", length), text: fmt.Sprintf("records of %d bytes", length), records: fewRecords, min: length, max: length, seed: 4}
		for _, journal := range journalSizes {
			peak, err := b.peak(ctx, set, o, "--journal-size", journal)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&w, "| %d bytes | %s | %.1f (%.1f-%.1f) |\n", length, journal, peak.median, peak.least, peak.most)
		}
	}
	return w.String(), nil
}

// peak is the most anonymous memory of a compaction, in MiB, over some runs.
func (b *bench) peak(ctx context.Context, set dataset, o allOptions, flags ...string) (spread[float64], error) {
	var none spread[float64]
	source, err := b.make(ctx, set)
	if err != nil {
		return none, err
	}
	half, _ := choiceNamed("half")
	keep := filepath.Join(b.dir, set.name+".kept")
	if _, err := keepFile(source, half, keep); err != nil {
		return none, err
	}
	var runs []measured
	for range o.pairs {
		err := b.side(ctx, source, false, &runs, func(dir string) command {
			c := b.laceCompact(keep)(dir)
			c.args = append(c.args, flags...)
			return c
		})
		if err != nil {
			return none, err
		}
	}
	peak, err := figures(runs, func(m measured) float64 { return float64(m.anon) / (1 << 20) })
	if err == nil {
		b.say("memory of %d %s %s: %.1f MiB", set.records, set.text, strings.Join(flags, " "), peak.median)
	}
	return peak, err
}
