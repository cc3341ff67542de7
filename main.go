// Command lace compacts a Lace root in place, offline, and finishes what an
// interrupted compaction left.
package main

import (
	"os"

	"github.com/lace-store/lace/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
