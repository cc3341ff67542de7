package listdir

import (
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// checkBytes bounds the lists that one scan is compared with, in bytes.
const checkBytes = 64 << 20

// checkLists bounds their number.
const checkLists = 1 << 14

// Finding is one list that is not what a scan of the records finds.
type Finding struct {
	Path string
	Key  index.Key
	// Err says what is wrong: the file is unusable as a list, or, when the
	// first two fields below tell, its ids differ from those of the records.
	Err     error
	Missing uint64 // records that match and are not listed: wrong answers
	Extra   uint64 // records that are listed and do not match: lost time
	First   store.RecordID
}

// Checked is the result of a Check.
type Checked struct {
	Lists    int // lists that were compared
	Findings []Finding
}

// Check compares every list with the records, each through its own sentinel.
// Lists that fit checkBytes are served by one scan. Its error is that the
// records or the directory could not be read; all that is wrong with lists is
// a Finding.
func (d *Dir) Check(rows index.Rows) (Checked, error) {
	c := check{rows: rows}
	err := d.walk(func(list string, info vfs.Info) error {
		e, p := d.inspect(list, info, rows.Position())
		if e.Err != nil {
			c.result.Findings = append(c.result.Findings, Finding{Path: list, Key: e.Key, Err: e.Err})
			return nil
		}
		return c.add(e, p)
	})
	if err == nil {
		err = c.flush()
	}
	if err != nil {
		return Checked{}, fmt.Errorf("check posting lists in %s: %w", d.path, err)
	}
	return c.result, nil
}

// check holds the lists that wait for the next scan.
type check struct {
	rows    index.Rows
	waiting []Entry
	lists   []*index.Posting
	bytes   int64
	result  Checked
}

func (c *check) add(e Entry, p *index.Posting) error {
	c.waiting, c.lists = append(c.waiting, e), append(c.lists, p)
	c.bytes += p.Bytes()
	if c.bytes < checkBytes && len(c.lists) < checkLists {
		return nil
	}
	return c.flush()
}

func (c *check) flush() error {
	keys := make([]index.Key, len(c.waiting))
	through := store.Position(0)
	for i, e := range c.waiting {
		keys[i] = e.Key
		through = max(through, e.CheckedThrough)
	}
	want, err := index.Build(c.rows, keys, through)
	if err != nil {
		return err
	}
	for i, e := range c.waiting {
		c.result.Lists++
		if f, differs := compare(e, c.lists[i], want[i]); differs {
			c.result.Findings = append(c.result.Findings, f)
		}
	}
	c.waiting, c.lists, c.bytes = nil, nil, 0
	return nil
}

// compare merges two lists up to the sentinel of the one that is checked.
func compare(e Entry, have, want *index.Posting) (Finding, bool) {
	f := Finding{Path: e.Path, Key: e.Key}
	a, b := have.Candidates(0, e.CheckedThrough), want.Candidates(0, e.CheckedThrough)
	for id := store.RecordID(1); ; {
		x, _ := a.SeekGE(id) // a list in memory is never unreadable
		y, _ := b.SeekGE(id)
		if x == 0 && y == 0 {
			break
		}
		id = min(x, y)
		if x == 0 || y == 0 {
			id = max(x, y)
		}
		if x != y && f.First == 0 {
			f.First = id
		}
		if x != id {
			f.Missing++
		}
		if y != id {
			f.Extra++
		}
		id++
	}
	if f.First == 0 {
		return f, false
	}
	f.Err = fmt.Errorf("posting list %s lacks %d records and has %d too many, the first is #%d", e.Path, f.Missing, f.Extra, f.First)
	return f, true
}
