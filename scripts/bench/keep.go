package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// choice is a way to choose what stays.
type choice struct {
	name string
	text string
	keep func(i, of uint64, random *rand.Rand) bool
}

var choices = []choice{
	{"half", "a random half stays", func(_, _ uint64, r *rand.Rand) bool { return r.IntN(2) == 0 }},
	{"newest", "the oldest half goes", func(i, of uint64, _ *rand.Rand) bool { return i >= of/2 }},
	{"drop5", "a random 5% goes", func(_, _ uint64, r *rand.Rand) bool { return r.IntN(100) >= 5 }},
	{"drop95", "a random 95% goes", func(_, _ uint64, r *rand.Rand) bool { return r.IntN(100) >= 95 }},
}

func choiceNamed(name string) (choice, bool) {
	for _, c := range choices {
		if c.name == name {
			return c, true
		}
	}
	return choice{}, false
}

// keepSeed makes every run choose the same records.
const keepSeed = 7

// keepFile writes the kept file of a choice for a root, and returns the bytes
// that stay.
func keepFile(rootDir string, c choice, path string) (retained uint64, err error) {
	log, err := os.Open(filepath.Join(rootDir, root.RecordLog))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	info, err := log.Stat()
	if err != nil {
		return 0, err
	}
	rows := uint64(info.Size()) / rowlog.RowLen
	set := kept.New(store.Position(rows))
	random := rand.New(rand.NewPCG(keepSeed, 0))
	digest := blake3.New()
	buf := make([]byte, rowlog.RowLen<<14)
	for i := uint64(0); i < rows; {
		n := min(uint64(len(buf)), (rows-i)*rowlog.RowLen)
		if _, err := io.ReadFull(log, buf[:n]); err != nil {
			return 0, err
		}
		if _, err := digest.Write(buf[:n]); err != nil {
			return 0, err
		}
		for at := uint64(0); at < n; at += rowlog.RowLen {
			if c.keep(i, rows, random) {
				row, err := rowlog.Decode(buf[at : at+rowlog.RowLen])
				if err != nil {
					return 0, fmt.Errorf("row %d: %w", i, err)
				}
				set.Add(rowlog.ID(i))
				retained += row.Len
			}
			i++
		}
	}
	out, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	err = set.WriteFile(out, [32]byte(digest.Sum(nil)), [32]byte{})
	return retained, errors.Join(err, out.Close())
}
