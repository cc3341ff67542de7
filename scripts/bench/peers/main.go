// Command peers does in databases what lace does in a root, for scripts/bench:
// records that nobody wants go, and their bytes are given back durably. It is a
// module of its own, so that lace depends on none of these databases.
//
//	peers kinds
//	peers load KIND DIR ROOT
//	peers compact KIND DIR KEPTFILE
//	peers check KIND DIR ROOT [KEPTFILE]
//
// DIR is the directory of the database. A record is stored below its id, eight
// bytes big-endian. Compact leaves the looking to check, which is not measured:
// exactly the records of the kept file must be left, or all without one, each
// with the bytes that it has in ROOT.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/lace-store/lace/pkg/store/kept"
)

// peer is a database.
type peer interface {
	// load fills a new database in dir with every record.
	load(dir string, records *records) error
	// compact removes what is not in the set, and gives the bytes back by the
	// database's own means. When it returns, everything is durable.
	compact(dir string, set *kept.Set) error
	// each visits every record in the order of ids. The bytes are valid during
	// the visit.
	each(dir string, visit func(id uint64, rec []byte) error) error
}

// kind is a database and a way to give bytes back.
type kind struct {
	name, text string
	peer
}

func kinds() []kind {
	return []kind{
		{"sqlite", "SQLite, DELETE and VACUUM", sqlite{}},
		{"sqlite-into", "SQLite, DELETE and VACUUM INTO", sqlite{into: true}},
		{"lmdb", "LMDB, deletes and a compacting copy", lmdbPeer{}},
		{"bbolt", "bbolt, deletes and its compaction", boltPeer{}},
		{"pebble", "Pebble, deletes and a manual compaction", pebblePeer{}},
	}
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("want: peers kinds | load KIND DIR ROOT | compact KIND DIR KEPTFILE | check KIND DIR ROOT [KEPTFILE]")

func run(args []string, out io.Writer) error {
	if len(args) == 1 && args[0] == "kinds" {
		for _, k := range kinds() {
			if _, err := fmt.Fprintf(out, "%s\t%s\n", k.name, k.text); err != nil {
				return err
			}
		}
		return nil
	}
	if len(args) < 4 {
		return errUsage
	}
	at := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == args[1] })
	if at < 0 {
		return fmt.Errorf("no kind %q: %w", args[1], errUsage)
	}
	k, dir := kinds()[at], args[2]
	switch {
	case args[0] == "load" && len(args) == 4:
		return load(k, dir, args[3])
	case args[0] == "compact" && len(args) == 4:
		set, err := readKept(args[3])
		if err != nil {
			return err
		}
		return k.compact(dir, set)
	case args[0] == "check" && len(args) == 4:
		return check(k, dir, args[3], nil)
	case args[0] == "check" && len(args) == 5:
		set, err := readKept(args[4])
		if err != nil {
			return err
		}
		return check(k, dir, args[3], set)
	}
	return errUsage
}

func load(k kind, dir, root string) (err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	r, err := openRecords(root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	return k.load(dir, r)
}
