// Command bench measures whole runs of lace on roots that it makes itself, and
// writes one table row for each. It must not know how lace works inside: what
// it measures is what an operator waits for.
//
//	bench sweep --sizes 20,21,22 --runs 3 --dir tmp/bench
//
// A size is the exponent of the number of records. Peaks of memory are those of
// anonymous pages, which Linux tells; elsewhere they are left out.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] != "sweep" {
		return errors.New("want: bench sweep [flags]")
	}
	return sweepBench(ctx, args[1:], out)
}
