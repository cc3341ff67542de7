package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

//go:embed policies/*.lace
var policyFiles embed.FS

// fiveShapes are the policies that the performance table sweeps with together.
var fiveShapes = []string{"field", "link", "negation", "newest", "reach"}

// shapes are the policies of the performance table, alone and, as the last
// row, the five together.
var shapes = [][]string{
	{"field"}, {"link"}, {"negation"}, {"newest"}, {"reach"}, {"counted"}, fiveShapes,
}

// sweepOptions are the parsed command line of `bench sweep`.
type sweepOptions struct {
	sizes   []int
	runs    int
	dir     string
	most    uint64   // anonymous memory that no run may pass; 0 is any
	toSweep []string // flags handed on to lace sweep
}

func parseSweep(args []string) (o sweepOptions, err error) {
	flags := flag.NewFlagSet("bench sweep", flag.ContinueOnError)
	flags.Func("sizes", "exponents of the numbers of records, like 20,21,22", func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 0 || n > 32 {
				return errors.New("not an exponent")
			}
			o.sizes = append(o.sizes, n)
		}
		return nil
	})
	flags.IntVar(&o.runs, "runs", 3, "runs of each policy")
	flags.StringVar(&o.dir, "dir", "tmp/bench", "where roots are made, and found again")
	flags.Func("max-anon", "fail if a run takes more anonymous memory (`SIZE`)", func(text string) (err error) {
		o.most, err = humanize.ParseBytes(text)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if len(o.sizes) == 0 {
		o.sizes = []int{20}
	}
	if o.runs < 1 {
		return o, errors.New("--runs must be at least 1")
	}
	o.toSweep = flags.Args()
	return o, nil
}

// sweepBench measures sweeps of every shape over roots of every size.
func sweepBench(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseSweep(args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return err
	}
	if err := o.prepare(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "| records | policies | retained | median s | min-max s | us/record | peak anonymous MiB | target | verdict |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|")
	before := time.Duration(0) // all five together, over the size before
	for i, size := range o.sizes {
		root, err := o.root(ctx, size)
		if err != nil {
			return err
		}
		for _, shape := range shapes {
			r, err := o.row(ctx, root, size, shape)
			if err != nil {
				return err
			}
			goal := "- | -"
			if len(shape) == len(fiveShapes) {
				if i == 0 || o.sizes[i-1] != size-1 {
					before = 0
				}
				goal, before = sweepVerdict(size, r.wall, before), r.wall
			}
			fmt.Fprintf(out, "%s | %s |\n", r.text, goal)
		}
	}
	return nil
}

// The targets of the five policies together: seconds over fullSize records, and
// how much the time of a record may grow when there are twice as many.
const (
	fullSize          = 20
	fullSeconds       = 8.0
	growthPerDoubling = 1.1
)

// sweepVerdict says how the five policies together did over 2^size records, and
// beside half as many, if these were measured before.
func sweepVerdict(size int, wall, half time.Duration) string {
	switch {
	case half > 0:
		return verdict(wall.Seconds()/half.Seconds()/2, growthPerDoubling, "<= %.2f of the time per record at half the size")
	case size == fullSize:
		return verdict(wall.Seconds(), fullSeconds, "<= %.0f s")
	}
	return "- | -"
}

// sweepRow is one row of the table without its verdict.
type sweepRow struct {
	text string
	wall time.Duration // median
}

func (o *sweepOptions) sources() string { return filepath.Join(o.dir, "sources") }

// prepare builds the tools and lays the policies out.
func (o *sweepOptions) prepare(ctx context.Context) error {
	for name, pkg := range map[string]string{"lace": ".", "mkroot": "./scripts/mkroot"} {
		if _, err := measure(ctx, command{name: "go", args: []string{"build", "-o", filepath.Join(o.dir, name), pkg}}); err != nil {
			return err
		}
	}
	// What an earlier run laid out may be older.
	if err := os.RemoveAll(o.sources()); err != nil {
		return err
	}
	return os.CopyFS(o.sources(), policyFiles)
}

// root returns a root of 2^size records, which is made if it is not there.
func (o *sweepOptions) root(ctx context.Context, size int) (string, error) {
	root := filepath.Join(o.dir, fmt.Sprintf("sweep-%d", size))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	// A root that was not finished must not be taken for one.
	making := root + ".making"
	if err := os.RemoveAll(making); err != nil {
		return "", err
	}
	_, err := measure(ctx, command{name: filepath.Join(o.dir, "mkroot"), args: []string{"--records", strconv.FormatUint(1<<size, 10),
		"--min-size", "200", "--max-size", "400", "--seed", "9", "--links", "20%", "--no-topic", "80%", making}})
	if err != nil {
		return "", err
	}
	return root, os.Rename(making, root)
}

// row measures one shape.
func (o *sweepOptions) row(ctx context.Context, root string, size int, shape []string) (r sweepRow, err error) {
	args := []string{"sweep", root, "--dry-run", "--json", "-q"}
	for _, name := range shape {
		args = append(args, "--policy", filepath.Join(o.sources(), "policies", name+".lace"))
	}
	args = append(args, o.toSweep...)
	var runs []measured
	for range o.runs {
		m, err := measure(ctx, command{name: filepath.Join(o.dir, "lace"), args: args})
		if err != nil {
			return r, err
		}
		runs = append(runs, m)
	}
	s, err := figures(runs, func(m measured) time.Duration { return m.wall })
	if err != nil {
		return r, err
	}
	anon, err := figures(runs, func(m measured) uint64 { return m.anon })
	if err != nil {
		return r, err
	}
	var doc struct {
		Retained struct{ Records uint64 }
	}
	if err := json.Unmarshal(runs[0].stdout, &doc); err != nil {
		return r, err
	}
	name := strings.Join(shape, "+")
	r.wall = s.median
	r.text = fmt.Sprintf("| 2^%d | %s | %d | %.2f | %.2f-%.2f | %.2f | %d", size, name, doc.Retained.Records,
		s.median.Seconds(), s.least.Seconds(), s.most.Seconds(), s.median.Seconds()*1e6/float64(uint64(1)<<size), anon.most>>20)
	if o.most > 0 && anon.most > o.most {
		return r, fmt.Errorf("%s over 2^%d records took %s of anonymous memory, more than %s", name, size, humanize.IBytes(anon.most), humanize.IBytes(o.most))
	}
	return r, nil
}
