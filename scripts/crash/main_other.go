//go:build !(linux && amd64)

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "crash: the rungs against the real binary need Linux on amd64")
	os.Exit(1)
}
