package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// dataset is a root that compactions are measured on.
type dataset struct {
	name    string
	text    string // what it is, for the table
	records uint64 // 0: the restic history
	min     int    // length of a record in bytes
	max     int
	seed    uint64
}

// historyFile is the table of the restic history, from the repository's top.
const historyFile = "../shared/data/restic-history.tsv.gz"

var datasets = []dataset{
	{"D1", "records of 200 to 2,000 bytes", 1_000_000, 200, 2000, 1},
	{"D2", "records of 32 KiB", 60_000, 32 << 10, 32 << 10, 2},
	{"D3", "records of 200 bytes", 4_000_000, 200, 200, 3},
	{"restic", "the history of a repository", 0, 0, 0, 0},
}

func datasetNamed(name string) (dataset, bool) {
	for _, d := range datasets {
		if d.name == name {
			return d, true
		}
	}
	return dataset{}, false
}

// scaled returns the data set with that share of its records.
func (d dataset) scaled(scale float64) dataset {
	d.records = uint64(float64(d.records) * scale)
	return d
}

// make makes the root of a data set with mkroot, if it is not there, and
// returns its directory.
func (b *bench) make(ctx context.Context, d dataset) (string, error) {
	root := filepath.Join(b.dir, fmt.Sprintf("%s-%d", d.name, d.records))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	b.say("making %s: %s", d.name, d.text)
	args := []string{"--blobs", "--records", strconv.FormatUint(d.records, 10), "--seed", strconv.FormatUint(d.seed, 10),
		"--min-size", strconv.Itoa(d.min), "--max-size", strconv.Itoa(d.max)}
	if d.records == 0 {
		args = []string{"--history", historyFile, "--app", "restic"}
	}
	// A root that was not finished must not be taken for one.
	making := root + ".making"
	if err := os.RemoveAll(making); err != nil {
		return "", err
	}
	if _, err := measure(ctx, command{name: b.tool("mkroot"), args: append(args, making)}); err != nil {
		return "", err
	}
	return root, os.Rename(making, root)
}
