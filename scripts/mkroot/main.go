// Command mkroot makes example roots for tests, demonstrations and benchmarks.
// It must not know policies.
//
//	mkroot --history FILE.tsv.gz --app NAME ROOT
//	mkroot --records N --min-size A --max-size B --seed S --links P% ROOT
//	mkroot --blobs --records N --min-size A --max-size B --seed S ROOT
//
// The first form makes one record of each row of a repository's history, the
// second makes random records that are the same for the same flags, and so
// does the third, of bare Blobs. Package gen documents them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mkroot:", err)
		os.Exit(1)
	}
}

// run makes the root that args ask for and writes one line about it to out.
func run(ctx context.Context, args []string, out, usage io.Writer) error {
	opts, err := parseArgs(args, usage)
	if err != nil {
		return err
	}
	src, closeSource, err := opts.source()
	if err != nil {
		return err
	}
	made, err := fill(ctx, opts, src)
	if err = errors.Join(err, closeSource()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %d records, %d bytes, %d bytes of data\n", opts.root, made.records, made.bytes, made.data)
	return err
}
