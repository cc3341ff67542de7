//go:build cgo

package lmdb

import (
	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
)

// Lists are the posting lists of one transaction, as package index asks for
// them. The list with the fewest ids drives a search; the others are asked for
// the pair of their key and an id by seeks.
type lists struct {
	snapshot
	cursors []*mdb.Cursor
	err     error // the first, which Prepare has no way to return
}

// Prepare implements index.Lists. A key that has no list of its own falls back
// to the presence of its field, and to no list at all.
func (l *lists) Prepare(keys []index.Key, lo, hi store.Position) []index.Candidates {
	var prepared []index.Candidates
	for _, k := range keys {
		encoded, ok := materialized(k)
		if !ok {
			continue
		}
		p, err := l.open(encoded, hi)
		if err != nil {
			if l.err == nil {
				l.err = err
			}
			continue
		}
		prepared = append(prepared, p)
	}
	return prepared
}

// materialized returns the narrowest key that has a posting list and holds
// every record of k.
func materialized(k index.Key) ([]byte, bool) {
	if encoded, ok := AppendKey(nil, k); ok {
		return encoded, true
	}
	if presence, ok := k.Presence(); ok {
		return AppendKey(nil, presence)
	}
	return nil, false
}

// open opens the list of a key. One that is missing has no candidates.
func (l *lists) open(key []byte, hi store.Position) (*posting, error) {
	cursor, err := l.txn.OpenCursor(l.env.postings)
	if err != nil {
		return nil, err
	}
	l.cursors = append(l.cursors, cursor)
	p := &posting{env: l.env, cursor: cursor, key: key, hi: hi}
	_, _, err = cursor.Get(key, nil, mdb.Set)
	if mdb.IsNotFound(err) {
		return p, nil
	}
	if err == nil {
		p.count, err = cursor.Count()
	}
	return p, err
}

// close closes the cursors, before their transaction ends.
func (l *lists) close() {
	for _, c := range l.cursors {
		c.Close()
	}
	l.cursors = nil
}

// posting is the candidates of one posting list.
type posting struct {
	env    *env
	cursor *mdb.Cursor
	key    []byte
	hi     store.Position
	count  uint64
	last   store.RecordID // what the cursor is on, zero before the first seek
}

// Count implements index.Candidates: the duplicates of the key, whatever the
// range.
func (p *posting) Count() uint64 { return p.count }

// SeekGE implements index.Candidates.
func (p *posting) SeekGE(id store.RecordID) (store.RecordID, error) {
	if p.count == 0 || store.Position(id) > p.hi {
		return 0, nil
	}
	var value []byte
	var err error
	if p.last != 0 && id == p.last+1 {
		_, value, err = p.cursor.Get(nil, nil, mdb.NextDup)
	} else {
		_, value, err = p.cursor.Get(p.key, encodeID(id), mdb.GetBothRange)
	}
	if mdb.IsNotFound(err) {
		p.count = 0 // the ids asked for never decrease
		return 0, nil
	}
	if err != nil {
		return 0, p.env.failed("search", err)
	}
	found, err := decodeID(value)
	if err != nil || found < id {
		return 0, p.env.corrupt("a posting", "an id out of order", "ascending ids")
	}
	p.last = found
	if store.Position(found) > p.hi {
		return 0, nil
	}
	return found, nil
}
