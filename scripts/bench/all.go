package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// allOptions are the parsed command line of `bench all`.
type allOptions struct {
	dir   string
	rows  []string // of rowNames; empty: all
	pairs int
	// peerPairs is how many rounds the databases take part in.
	peerPairs int
	scale     float64
	cold      bool
	warm      bool
	keep      bool
	write     string
	toLace    []string
}

// rowNames are what --rows takes.
func rowNames() []string {
	names := []string{}
	for _, c := range cases {
		names = append(names, c.name())
	}
	return append(names, "open", "verify", "memory", "sweep", "peers")
}

func parseAll(args []string) (o allOptions, err error) {
	flags := flag.NewFlagSet("bench all", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "tmp/bench", "where roots are made")
	flags.Func("rows", "measure these alone, by commas: "+strings.Join(rowNames(), " "), func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			if !slices.Contains(rowNames(), word) {
				return fmt.Errorf("%q is none of %s", word, strings.Join(rowNames(), " "))
			}
			o.rows = append(o.rows, word)
		}
		return nil
	})
	flags.IntVar(&o.pairs, "pairs", 5, "interleaved pairs of each row")
	flags.IntVar(&o.peerPairs, "peer-pairs", 3, "interleaved rounds of the databases, which take long")
	flags.Float64Var(&o.scale, "scale", 1, "the share of the records of each data set")
	flags.BoolVar(&o.cold, "cold", true, "measure with caches dropped, which needs root on Linux")
	flags.BoolVar(&o.warm, "warm", true, "measure with warm caches")
	flags.BoolVar(&o.keep, "keep", false, "leave the data sets for the next run")
	flags.StringVar(&o.write, "write", "", "put the tables in place of those of this `FILE`, instead of stdout")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.pairs < 1 || o.peerPairs < 1 || !(o.scale > 0 && o.scale <= 1) || !o.cold && !o.warm {
		return o, fmt.Errorf("want --pairs and --peer-pairs of at least 1, --scale above 0 and at most 1, and --cold or --warm")
	}
	if len(o.rows) == 0 {
		o.rows = rowNames()
	}
	o.toLace = flags.Args()
	return o, nil
}

// allBench measures the rows and writes their tables.
func allBench(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseAll(args)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o.dir, os.Stderr)
	if err != nil {
		return err
	}
	b.toLace = o.toLace
	if !o.keep {
		defer func() {
			if e := os.RemoveAll(o.dir); e != nil {
				b.say("remove %s: %v", o.dir, e)
			}
		}()
	}
	var sections []section
	for _, measure := range []func(context.Context, allOptions) ([]section, error){b.machine, b.compactions, b.reads, b.memory, b.sweeps, b.peers} {
		made, err := measure(ctx, o)
		if err != nil {
			return err
		}
		sections = append(sections, made...)
	}
	if o.write == "" {
		for _, s := range sections {
			if _, err := fmt.Fprintf(out, "%s\n%s\n", s.name, s.text); err != nil {
				return err
			}
		}
		return nil
	}
	return replaceSections(o.write, sections)
}

// temperatures are the states of the caches to measure with.
func (o allOptions) temperatures() []bool {
	var states []bool
	if o.cold {
		states = append(states, true)
	}
	if o.warm {
		states = append(states, false)
	}
	return states
}

// machine says what everything is measured on.
func (b *bench) machine(_ context.Context, o allOptions) ([]section, error) {
	load := ""
	if o.scale != 1 {
		load = fmt.Sprintf("%g of the records of each data set.\n", o.scale)
	}
	return []section{{"machine", machine(o.dir, o.pairs) + load}}, nil
}

// compactions measures the chosen cases.
func (b *bench) compactions(ctx context.Context, o allOptions) ([]section, error) {
	var outcomes []outcome
	for _, c := range cases {
		if !slices.Contains(o.rows, c.name()) {
			continue
		}
		for _, cold := range o.temperatures() {
			set, _ := datasetNamed(c.set)
			choice, _ := choiceNamed(c.choice)
			got, err := b.pairs(ctx, compaction{set.scaled(o.scale), choice, cold}, o.pairs)
			if err != nil {
				return nil, err
			}
			b.say("%s %s: %.2f, %s", c.name(), got.temperature(), spreadOf(got.ratios).median, got.phases())
			outcomes = append(outcomes, got)
		}
	}
	if len(outcomes) == 0 {
		return nil, nil
	}
	return []section{{"time", timeTable(outcomes)}, {"cost", costTable(outcomes)}}, nil
}
