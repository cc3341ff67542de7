//go:build cgo

package lmdb

import (
	"context"
	"errors"
	"fmt"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index/listdir"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// maxFindings is how many findings are told apart; more are one finding.
const maxFindings = 1 << 10

// CheckIndexes implements profile.Examination: it compares ids-by-hash and the
// postings with a scan of the rows and their records, in one transaction. What
// the scan expects must be there, and nothing else.
func (x *examination) CheckIndexes(ctx context.Context) (listdir.Checked, error) {
	if err := x.env.checkPages(); err != nil {
		return listdir.Checked{}, err
	}
	c := check{ctx: ctx, x: x, project: inserter{env: x.env, arena: x.arena}}
	err := x.env.view(c.run)
	return c.result, err
}

// check is one comparison.
type check struct {
	ctx     context.Context
	x       *examination
	project inserter
	txn     *mdb.Txn
	pair    *mdb.Cursor
	pairs   uint64 // that the scan expects and that are there
	hashes  uint64
	lost    uint64 // findings beyond maxFindings
	result  listdir.Checked
}

func (c *check) run(txn *mdb.Txn) (err error) {
	c.txn = txn
	if c.pair, err = txn.OpenCursor(c.x.env.postings); err != nil {
		return err
	}
	defer c.pair.Close()
	// What was admitted since is left to another run.
	pos := store.RecordID(c.x.rows.pos)
	if err := c.x.env.scanRows(txn, 1, pos, c.row); err != nil {
		return err
	}
	if err := c.extraHashes(); err != nil {
		return err
	}
	if err := c.extraPairs(); err != nil {
		return err
	}
	if c.lost > 0 {
		c.result.Findings = append(c.result.Findings, listdir.Finding{Path: "...", Err: fmt.Errorf("%d more findings", c.lost)})
	}
	return nil
}

// find adds a finding about a list.
func (c *check) find(f listdir.Finding) {
	if len(c.result.Findings) == maxFindings {
		c.lost++
		return
	}
	c.result.Findings = append(c.result.Findings, f)
}

// row checks what the databases have about the record of a row. A row that is
// none, or whose record is none, is the matter of a verification of records.
func (c *check) row(id store.RecordID, encoded []byte) error {
	if id%256 == 0 && c.ctx.Err() != nil {
		return &store.Error{Kind: store.Interrupted, Doing: "check posting lists", Root: c.x.dir, Err: c.ctx.Err()}
	}
	if len(encoded) != rowlog.RowLen {
		return nil
	}
	row, err := rowlog.Decode(encoded)
	if err != nil {
		return nil
	}
	if err := c.hash(id, row.Hash); err != nil {
		return err
	}
	if row.CheckInside(c.x.capacity) != nil || row.Len > record.MaxRecordLen {
		return nil
	}
	rec, err := c.project.read(row)
	if err != nil {
		return err
	}
	var form *record.FormatError
	if err := c.project.project(rec); errors.As(err, &form) {
		return nil
	} else if err != nil {
		return err
	}
	for _, key := range c.project.keys.sorted() {
		if err := c.posting(key, id); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) hash(id store.RecordID, h record.Hash) error {
	value, err := c.txn.Get(c.x.env.hashes, h[:])
	switch {
	case mdb.IsNotFound(err):
		c.find(listdir.Finding{Path: hashesName, Err: fmt.Errorf("no entry of %s, which is record #%d", h, id), Missing: 1})
		return nil
	case err != nil:
		return err
	case string(value) != string(encodeID(id)):
		c.find(listdir.Finding{Path: hashesName, Err: fmt.Errorf("%s is entered as %x, want record #%d", h, value, id), Missing: 1})
	}
	c.hashes++
	return nil
}

func (c *check) posting(key []byte, id store.RecordID) error {
	_, _, err := c.pair.Get(key, encodeID(id), mdb.GetBoth)
	if err == nil {
		c.pairs++
		return nil
	}
	if !mdb.IsNotFound(err) {
		return err
	}
	k, err := DecodeKey(key)
	if err != nil {
		return err
	}
	c.find(listdir.Finding{Path: postingsName, Key: k, Err: fmt.Errorf("%s lacks record #%d", k, id), Missing: 1, First: id})
	return nil
}

// extraHashes finds entries whose row has another hash. There is none when
// there are as many entries as were met.
func (c *check) extraHashes() error {
	stat, err := c.txn.Stat(c.x.env.hashes)
	if err != nil || stat.Entries == c.hashes {
		return err
	}
	return c.each(c.x.env.hashes, func(key, value []byte) error {
		id, err := decodeID(value)
		if err != nil {
			c.find(listdir.Finding{Path: hashesName, Err: fmt.Errorf("%q: %w", key, err), Extra: 1})
			return nil
		}
		if store.Position(id) > c.x.rows.pos && c.isLater(id) {
			return nil
		}
		row, ok := c.rowOf(id)
		if !ok || string(row.Hash[:]) != string(key) {
			c.find(listdir.Finding{Path: hashesName, Err: fmt.Errorf("%q is entered as record #%d, which has another hash", key, id), Extra: 1})
		}
		return nil
	})
}

// extraPairs counts the lists and, when there are more pairs than were met,
// finds those whose record does not have the key.
func (c *check) extraPairs() error {
	stat, err := c.txn.Stat(c.x.env.postings)
	if err != nil {
		return err
	}
	search := stat.Entries != c.pairs
	last := ""
	return c.each(c.x.env.postings, func(key, value []byte) error {
		if string(key) != last {
			last = string(key)
			c.result.Lists++
		}
		if !search {
			return nil
		}
		return c.extraPair(key, value)
	})
}

func (c *check) extraPair(key, value []byte) error {
	k, err := DecodeKey(key)
	if err != nil {
		c.find(listdir.Finding{Path: postingsName, Err: fmt.Errorf("key %x: %w", key, err), Extra: 1})
		return nil
	}
	id, err := decodeID(value)
	if err == nil && store.Position(id) > c.x.rows.pos && c.isLater(id) {
		return nil
	}
	if err == nil {
		var has bool
		if has, err = c.hasKey(id, key); has {
			return nil
		}
	}
	why := fmt.Errorf("%s names record #%d, which does not have it", k, id)
	if err != nil {
		why = fmt.Errorf("%s names record #%d: %w", k, id, err)
	}
	c.find(listdir.Finding{Path: postingsName, Key: k, Err: why, Extra: 1, First: id})
	return nil
}

// isLater reports whether an id was admitted since the position that is being
// checked.
func (c *check) isLater(id store.RecordID) bool {
	_, ok := c.rowOf(id)
	return ok
}

func (c *check) rowOf(id store.RecordID) (rowlog.Row, bool) {
	row, ok, err := snapshot{env: c.x.env, txn: c.txn}.row(id)
	return row, ok && err == nil
}

// hasKey reports whether the record of an id has a posting key.
func (c *check) hasKey(id store.RecordID, key []byte) (bool, error) {
	row, ok := c.rowOf(id)
	if !ok {
		return false, errors.New("there is no such record")
	}
	if err := row.CheckInside(c.x.capacity); err != nil {
		return false, err
	}
	rec, err := c.project.read(row)
	if err == nil {
		err = c.project.project(rec)
	}
	if err != nil {
		return false, err
	}
	for _, k := range c.project.keys.sorted() {
		if string(k) == string(key) {
			return true, nil
		}
	}
	return false, nil
}

// each gives visit every entry of a database, in order.
func (c *check) each(dbi mdb.DBI, visit func(key, value []byte) error) error {
	cursor, err := c.txn.OpenCursor(dbi)
	if err != nil {
		return err
	}
	defer cursor.Close()
	for n := uint64(0); ; n++ {
		key, value, err := cursor.Get(nil, nil, mdb.Next)
		if mdb.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if n%1024 == 0 && c.ctx.Err() != nil {
			return &store.Error{Kind: store.Interrupted, Doing: "check posting lists", Root: c.x.dir, Err: c.ctx.Err()}
		}
		if err := visit(key, value); err != nil {
			return err
		}
	}
}
