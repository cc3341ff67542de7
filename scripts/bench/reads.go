package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
)

// yardstick compares a command that only reads with the least it has to do.
type yardstick struct {
	row, text string
	lace      []string // before the root
	against   []string // of bench; "ROOT" stands for the root
	unit      float64  // the share of the yardstick's time that is the limit
	goal      float64
}

func yardsticks() []yardstick {
	cores := float64(runtime.NumCPU())
	return []yardstick{
		{"open", "opening D1 with every glyph line checked, beside reading the arena once", []string{"verify", "--level", "glyphs", "-q"}, []string{"read", "ROOT"}, 1, 3},
		{"verify", "all hashes of D1, beside BLAKE3 of as many such messages on all cores", []string{"verify", "--level", "hashes", "-q"}, []string{"hash"}, 1 / cores, 1 / 0.8},
	}
}

// reads measures the commands that only read.
func (b *bench) reads(ctx context.Context, o allOptions) ([]section, error) {
	var w strings.Builder
	w.WriteString("| what | caches | lace s (min-max) | yardstick s (min-max) | ratio to the limit | target | verdict |\n|---|---|---|---|---|---|---|\n")
	rows := 0
	for _, y := range yardsticks() {
		for _, cold := range o.temperatures() {
			if !slices.Contains(o.rows, y.row) {
				continue
			}
			line, err := b.read(ctx, o, y, cold)
			if err != nil {
				return nil, err
			}
			w.WriteString(line)
			rows++
		}
	}
	if rows == 0 {
		return nil, nil
	}
	return []section{{"reads", w.String()}}, nil
}

// read measures one command and its yardstick in turns.
func (b *bench) read(ctx context.Context, o allOptions, y yardstick, cold bool) (string, error) {
	set, _ := datasetNamed("D1")
	dir, err := b.make(ctx, set.scaled(o.scale))
	if err != nil {
		return "", err
	}
	against := slices.Clone(y.against)
	for i, arg := range against {
		if arg == "ROOT" {
			against[i] = dir
		}
	}
	var lace, yard []measured
	var ratios []float64
	for range o.pairs {
		for _, side := range []struct {
			what command
			runs *[]measured
		}{
			{command{name: b.tool("lace"), args: append(slices.Clone(y.lace), dir)}, &lace},
			{command{name: b.self, args: against}, &yard},
		} {
			if err := b.temper(cold, dir); err != nil {
				return "", err
			}
			m, err := measure(ctx, side.what)
			if err != nil {
				return "", err
			}
			*side.runs = append(*side.runs, m)
		}
		limit := yard[len(yard)-1].wall.Seconds() * y.unit
		if y.row == "verify" {
			limit *= o.scale // the yardstick hashes as many as all of D1 has
		}
		ratios = append(ratios, lace[len(lace)-1].wall.Seconds()/limit)
	}
	r := spreadOf(ratios)
	b.say("%s cold=%v: %.2f", y.row, cold, r.median)
	return fmt.Sprintf("| %s | %s | %s | %s | %.2f (%.2f-%.2f) | %s |\n", y.text, compaction{cold: cold}.temperature(),
		seconds(lace), seconds(yard), r.median, r.least, r.most, verdict(r.median, y.goal, "<= %.2f")), nil
}

// sweeps measures the sweeps at 2^20, 2^21 and 2^22 records, or fewer by the scale.
func (b *bench) sweeps(ctx context.Context, o allOptions) ([]section, error) {
	if !slices.Contains(o.rows, "sweep") {
		return nil, nil
	}
	size := max(8, fullSize+int(math.Floor(math.Log2(o.scale))))
	var w strings.Builder
	err := sweepBench(ctx, []string{"--sizes", fmt.Sprintf("%d,%d,%d", size, size+1, size+2), "--runs", fmt.Sprint(o.pairs), "--dir", o.dir}, &w)
	return []section{{"sweep", w.String()}}, err
}
