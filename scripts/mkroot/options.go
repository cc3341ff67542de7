package main

import (
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/lace-store/lace/scripts/mkroot/gen"

	"github.com/lace-store/lace/pkg/store/arena"
	"github.com/lace-store/lace/pkg/store/native"
)

// options are the parsed command line.
type options struct {
	root      string
	capacity  uint64 // 0: the profile's default
	history   string
	app       string
	blobs     bool
	synthetic gen.SyntheticOptions
}

func parseArgs(args []string, usage io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("mkroot", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are returned, and need no list of flags
	flags.StringVar(&o.history, "history", "", "make the records of this table of a repository's history (`FILE`.tsv.gz)")
	flags.StringVar(&o.app, "app", "", "the App of the history's records")
	flags.Uint64Var(&o.synthetic.Records, "records", 0, "make this number of random records")
	flags.BoolVar(&o.blobs, "blobs", false, "make the random records bare Blobs, whose sizes are those of the whole record")
	flags.Func("min-size", "the least data `SIZE` of a random record", intSize(&o.synthetic.MinSize))
	flags.Func("max-size", "the greatest data `SIZE` of a random record", intSize(&o.synthetic.MaxSize))
	flags.Uint64Var(&o.synthetic.Seed, "seed", 0, "the seed of random records")
	flags.Func("links", "the share of random records that link to an earlier one (`P%`)", share(&o.synthetic.Links))
	flags.Func("seals", "the share of random records that are sealed (`P%`)", share(&o.synthetic.Seals))
	flags.Func("no-topic", "the share of random records without a topic (`P%`)", share(&o.synthetic.NoTopic))
	flags.Func("capacity", "the `SIZE` of the arena (default: "+native.CapacityVariable+", or the profile's)", size(&o.capacity))
	if o.capacity, err = arena.CapacityFrom(os.LookupEnv); err != nil {
		return o, err
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(usage)
			flags.PrintDefaults()
		}
		return o, err
	}
	if flags.NArg() != 1 {
		return o, fmt.Errorf("%d roots, want one", flags.NArg())
	}
	o.root = flags.Arg(0)
	if (o.history == "") == (o.synthetic.Records == 0) {
		return o, errors.New("want either --history FILE or --records N")
	}
	if o.blobs && (o.history != "" || o.synthetic.Links+o.synthetic.Seals+o.synthetic.NoTopic > 0) {
		return o, errors.New("--blobs goes with --records and sizes alone")
	}
	if (o.history == "") != (o.app == "") {
		return o, errors.New("--history FILE and --app NAME go together")
	}
	return o, nil
}

// size returns the parser of a flag like 64MiB, 1.5GB or 4096.
func size(to *uint64) func(string) error {
	return func(text string) (err error) {
		*to, err = humanize.ParseBytes(text)
		return err
	}
}

func intSize(to *int) func(string) error {
	return func(text string) error {
		var n uint64
		if err := size(&n)(text); err != nil {
			return err
		}
		if n > 1<<31-1 {
			return errors.New("too large")
		}
		*to = int(n)
		return nil
	}
}

// share returns the parser of a flag like 20%.
func share(to *float64) func(string) error {
	return func(text string) error {
		percent, ok := strings.CutSuffix(text, "%")
		n, err := strconv.ParseFloat(percent, 64)
		if err != nil || !ok {
			return errors.New("not a percentage like 20%")
		}
		*to = n / 100
		return nil
	}
}

// source opens what the records are made from. The returned function closes
// it.
func (o options) source() (gen.Source, func() error, error) {
	if o.blobs {
		s := o.synthetic
		src, err := gen.NewBlobs(gen.BlobOptions{Records: s.Records, MinLen: s.MinSize, MaxLen: s.MaxSize, Seed: s.Seed})
		return src, func() error { return nil }, err
	}
	if o.history == "" {
		src, err := gen.NewSynthetic(o.synthetic)
		return src, func() error { return nil }, err
	}
	f, err := os.Open(o.history)
	if err != nil {
		return nil, nil, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", o.history, err), f.Close())
	}
	return gen.NewHistory(z, o.app), func() error { return errors.Join(z.Close(), f.Close()) }, nil
}
