package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

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

// hashCommand is `bench hash [MESSAGES]`: BLAKE3 of hashMessages, or as many,
// messages of hashLen bytes on one core, from memory that the caches hold: the
// limit of a verify.
func hashCommand(args []string) error {
	messages := hashMessages
	if len(args) > 1 {
		return errors.New("want: bench hash [MESSAGES]")
	}
	if len(args) == 1 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return fmt.Errorf("want a number of messages above 0, not %q", args[0])
		}
		messages = n
	}
	message := make([]byte, hashLen)
	h := blake3.New()
	var sum [32]byte
	for range messages {
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
