package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store/root"
)

// readCommand is `bench read ROOT`: the arena read once, in order, in large
// pieces.
func readCommand(args []string) error {
	if len(args) != 1 {
		return errors.New("want: bench read ROOT")
	}
	return readFile(filepath.Join(args[0], root.Records))
}

// hashCommand is `bench hash`: BLAKE3 of hashMessages messages of hashLen
// bytes on one core, from memory that the caches hold: the limit of a verify.
func hashCommand(args []string) error {
	if len(args) != 0 {
		return errors.New("want: bench hash")
	}
	message := make([]byte, hashLen)
	h := blake3.New()
	var sum [32]byte
	for range hashMessages {
		h.Reset()
		if _, err := h.Write(message); err != nil {
			return err
		}
		copy(message, h.Sum(sum[:0]))
	}
	_, err := os.Stdout.Write(sum[:])
	return err
}

const (
	hashLen      = 1100 // the mean length of a record of D1, in bytes
	hashMessages = 1_000_000
)
