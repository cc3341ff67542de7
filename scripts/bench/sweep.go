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

// shapes are the policies of the performance table, alone and, as the last
// row, the first five together.
var shapes = [][]string{
	{"field"}, {"link"}, {"negation"}, {"newest"}, {"reach"}, {"counted"},
	{"field", "link", "negation", "newest", "reach"},
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
	fmt.Fprintln(out, "| records | policies | retained | median s | min-max s | us/record | peak anonymous MiB |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	for _, size := range o.sizes {
		root, err := o.root(ctx, size)
		if err != nil {
			return err
		}
		for _, shape := range shapes {
			if err := o.row(ctx, out, root, size, shape); err != nil {
				return err
			}
		}
	}
	return nil
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

// row measures one shape and writes its row.
func (o *sweepOptions) row(ctx context.Context, out io.Writer, root string, size int, shape []string) error {
	args := []string{"sweep", root, "--dry-run", "--json", "-q"}
	for _, name := range shape {
		args = append(args, "--policy", filepath.Join(o.sources(), "policies", name+".lace"))
	}
	args = append(args, o.toSweep...)
	var runs []measured
	for range o.runs {
		m, err := measure(ctx, command{name: filepath.Join(o.dir, "lace"), args: args})
		if err != nil {
			return err
		}
		runs = append(runs, m)
	}
	s, err := figures(runs, func(m measured) time.Duration { return m.wall })
	if err != nil {
		return err
	}
	anon, err := figures(runs, func(m measured) uint64 { return m.anon })
	if err != nil {
		return err
	}
	var doc struct {
		Retained struct{ Records uint64 }
	}
	if err := json.Unmarshal(runs[0].stdout, &doc); err != nil {
		return err
	}
	name := strings.Join(shape, "+")
	fmt.Fprintf(out, "| 2^%d | %s | %d | %.2f | %.2f-%.2f | %.2f | %d |\n", size, name, doc.Retained.Records,
		s.median.Seconds(), s.least.Seconds(), s.most.Seconds(), s.median.Seconds()*1e6/float64(uint64(1)<<size), anon.most>>20)
	if o.most > 0 && anon.most > o.most {
		return fmt.Errorf("%s over 2^%d records took %s of anonymous memory, more than %s", name, size, humanize.IBytes(anon.most), humanize.IBytes(o.most))
	}
	return nil
}
