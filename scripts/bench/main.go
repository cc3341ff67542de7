// Command bench measures whole runs of lace on roots that it makes itself,
// side by side with a copy of the retained records that was tuned for the
// purpose, and writes the tables of docs/performance.md from what it measured.
// It must not know how lace works inside: what it measures is what an operator
// waits for.
//
//	bench all [--rows LIST] [--pairs N] [--peer-pairs N] [--scale X] [--dir DIR] [--write FILE]
//	bench short [--record]
//	bench sweep --sizes 20,21,22 --runs 3 --dir tmp/bench
//
// A size of sweep is the exponent of the number of records. Peaks of memory,
// written bytes and cold caches are those of Linux; elsewhere they are left
// out. bench copy, read and hash are what lace is measured against; bench runs
// them as processes of their own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
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
	commands := map[string]func(context.Context, []string, io.Writer) error{
		"all":   allBench,
		"short": shortBench,
		"sweep": sweepBench,
		"copy":  func(_ context.Context, args []string, _ io.Writer) error { return copyCommand(args) },
		"read":  func(_ context.Context, args []string, _ io.Writer) error { return readCommand(args) },
		"hash":  func(_ context.Context, args []string, _ io.Writer) error { return hashCommand(args) },
	}
	if len(args) > 0 {
		if command, ok := commands[args[0]]; ok {
			return command(ctx, args[1:], out)
		}
	}
	return errors.New("want: bench all|short|sweep [flags]")
}

// bench is what every measurement needs.
type bench struct {
	dir    string    // of roots and tools
	self   string    // this program
	toLace []string  // more flags of lace compact
	log    io.Writer // what is being done
}

func newBench(ctx context.Context, dir string, log io.Writer) (*bench, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	b := &bench{dir: dir, self: self, log: log}
	for name, pkg := range map[string]string{"lace": ".", "mkroot": "./scripts/mkroot"} {
		if _, err := measure(ctx, command{name: "go", args: []string{"build", "-o", b.tool(name), pkg}}); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// tool returns the path of a program that was built for the run.
func (b *bench) tool(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.log, "bench: "+format+"\n", args...)
}
