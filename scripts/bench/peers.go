package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// peersModule is the directory of the program that compacts in databases; it
// is a module of its own.
const peersModule = "scripts/bench/peers"

// peersShare is the share of the records of D1 that the databases get: the
// slowest takes more than a minute for a round of all of them.
const peersShare = 0.5

// contender is one way to compact the records of D1, with its runs.
type contender struct {
	name   string // for the table
	source string // the directory that every run gets a copy of
	of     func(dir string) command
	runs   []measured
}

// peers measures databases in turns with lace and the tuned copy, on the same
// records and with the same kept file: a random half of a share of D1.
func (b *bench) peers(ctx context.Context, o allOptions) ([]section, error) {
	if !slices.Contains(o.rows, "peers") {
		return nil, nil
	}
	set, _ := datasetNamed("D1")
	set = set.scaled(o.scale * peersShare)
	source, err := b.make(ctx, set)
	if err != nil {
		return nil, err
	}
	half, _ := choiceNamed("half")
	keep := filepath.Join(b.dir, "peers.kept")
	retained, err := keepFile(source, half, keep)
	if err != nil {
		return nil, err
	}
	all := []*contender{
		{name: "tuned copy", source: source, of: b.tunedCopy(keep)},
		{name: "lace compact", source: source, of: b.laceCompact(keep)},
	}
	databases, leftOut, err := b.databases(ctx, source, keep)
	if err != nil {
		return nil, err
	}
	all = append(all, databases...)
	cold := o.temperatures()[0]
	for i := range o.peerPairs {
		for j := range all {
			c := all[(i+j)%len(all)]
			b.say("peers %d of %d: %s", i+1, o.peerPairs, c.name)
			if err := b.side(ctx, c.source, cold, &c.runs, c.of); err != nil {
				return nil, err
			}
			b.say("%.2f s", c.runs[i].wall.Seconds())
		}
	}
	var document compactDocument
	if err := json.Unmarshal(all[1].runs[0].stdout, &document); err != nil {
		return nil, fmt.Errorf("document of lace compact: %w", err)
	}
	if document.Retained.Bytes != retained {
		return nil, fmt.Errorf("lace retained %d bytes, want %d", document.Retained.Bytes, retained)
	}
	text := fmt.Sprintf("Rounds: %d; caches: %s; records: %d.%s\n\n", o.peerPairs, compaction{cold: cold}.temperature(), set.records, leftOut)
	return []section{{"peers", text + peersTable(all, retained)}}, os.Remove(keep)
}

// databases builds the program of the databases and loads each of them. Where
// it cannot be built, it returns a sentence that says so.
func (b *bench) databases(ctx context.Context, source, keep string) (all []*contender, leftOut string, err error) {
	program, err := filepath.Abs(b.tool("peers"))
	if err != nil {
		return nil, "", err
	}
	if _, err := measure(ctx, command{name: "go", args: []string{"build", "-C", peersModule, "-o", program}}); err != nil {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		b.say("no databases: %v", err)
		return nil, " The databases are left out: their program could not be built.", nil
	}
	kinds, err := measure(ctx, command{name: program, args: []string{"kinds"}})
	if err != nil {
		return nil, "", err
	}
	for line := range strings.Lines(string(kinds.stdout)) {
		kind, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
		filled := source + "-" + kind
		if _, err := os.Stat(filled); err != nil {
			b.say("filling %s", text)
			// A database that was not finished must not be taken for one.
			filling := filled + ".making"
			if err := os.RemoveAll(filling); err != nil {
				return nil, "", err
			}
			if _, err := measure(ctx, command{name: program, args: []string{"load", kind, filling, source}}); err != nil {
				return nil, "", err
			}
			if err := os.Rename(filling, filled); err != nil {
				return nil, "", err
			}
		}
		all = append(all, &contender{name: text, source: filled, of: func(dir string) command {
			return command{name: program, args: []string{"compact", kind, dir, keep},
				after: &command{name: program, args: []string{"check", kind, dir, source, keep}}}
		}})
	}
	return all, "", nil
}

// peersTable compares everything with the first, the tuned copy, by the runs of
// the same round.
func peersTable(all []*contender, retained uint64) string {
	var w strings.Builder
	w.WriteString("| what | s (min-max) | over the copy (min-max) | CPU s | anonymous MiB | resident MiB | written / retained | extra disk MiB |\n")
	w.WriteString("|---|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		ratios := make([]float64, len(c.runs))
		for i, r := range c.runs {
			ratios[i] = r.wall.Seconds() / all[0].runs[i].wall.Seconds()
		}
		ratio := spreadOf(ratios)
		fmt.Fprintf(&w, "| %s | %s | %.2f (%.2f-%.2f) | %.2f | %.0f | %.0f | %.2f | %.0f |\n", c.name, seconds(c.runs),
			ratio.median, ratio.least, ratio.most,
			median(c.runs, func(m measured) float64 { return m.cpu.Seconds() }),
			median(c.runs, func(m measured) float64 { return float64(m.anon) / (1 << 20) }),
			median(c.runs, func(m measured) float64 { return float64(m.resident) / (1 << 20) }),
			median(c.runs, func(m measured) float64 { return float64(m.written) / float64(retained) }),
			median(c.runs, extra))
	}
	return w.String()
}
