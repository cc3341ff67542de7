// Command lace compacts a Lace root in place, offline, and finishes what an
// interrupted compaction left.
package main

import (
	"os"
	"runtime/debug"

	"github.com/lace-store/lace/cmd"
)

// gcPercent is how much garbage is let grow beside what is alive, in percent.
// Most of what is alive is the row table, which costs a collection nothing and
// would double what it takes at Go's default.
const gcPercent = 40

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
