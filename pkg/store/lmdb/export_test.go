//go:build cgo

package lmdb

import (
	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
)

// Quick is the profile without the waiting: nothing that most tests kill is the
// machine.
func Quick() Profile { return Profile{hooks{flags: mdb.NoSync}} }

// LoseRow removes the row of one id behind the store's back.
func LoseRow(s *Store, id store.RecordID) error {
	return s.env.update(func(txn *mdb.Txn) error { return txn.Del(s.env.rows, encodeID(id), nil) })
}

// Reloading is Quick with small batches, whose commits are told before and
// after.
func Reloading(batch uint64, reloaded func(rows uint64, committed bool) error) Profile {
	p := Quick()
	p.hooks.batchRows, p.hooks.reloaded = batch, reloaded
	return p
}

// In is the profile with every environment in envDir, and batches of that many
// rows: LMDB reaches no model file system.
func (p Profile) In(envDir string) Profile {
	p.hooks.envDir = func(string) string { return envDir }
	return p
}

// Mapping is the profile with maps of that many bytes to begin with.
func (p Profile) Mapping(size int64) Profile {
	p.hooks.mapSize = size
	return p
}

// typeKey is a key that every Blob has.
func typeKey(value string) []byte {
	key, _ := AppendKey(nil, index.Key{Shape: store.FieldExact, Name: ":Type", Value: value})
	return key
}

// LosePosting removes a pair that a Blob must have.
func LosePosting(s *Store, id store.RecordID) error {
	return s.env.update(func(txn *mdb.Txn) error { return txn.Del(s.env.postings, typeKey("B"), encodeID(id)) })
}

// AddPosting adds a pair that a Blob cannot have.
func AddPosting(s *Store, id store.RecordID) error {
	return s.env.update(func(txn *mdb.Txn) error { return txn.Put(s.env.postings, typeKey("S"), encodeID(id), 0) })
}

// AddStrangeKey adds a pair under a key that is none.
func AddStrangeKey(s *Store) error {
	return s.env.update(func(txn *mdb.Txn) error { return txn.Put(s.env.postings, []byte{0xff}, encodeID(1), 0) })
}

// LoseHash removes the hash of an id.
func LoseHash(s *Store, id store.RecordID) error {
	row, err := s.Row(id)
	if err != nil {
		return err
	}
	return s.env.update(func(txn *mdb.Txn) error { return txn.Del(s.env.hashes, row.Hash[:], nil) })
}

// ExchangeHash enters the hash of an id under another id.
func ExchangeHash(s *Store, id store.RecordID) error {
	row, err := s.Row(id)
	if err != nil {
		return err
	}
	return s.env.update(func(txn *mdb.Txn) error { return txn.Put(s.env.hashes, row.Hash[:], encodeID(id+1), 0) })
}

// ShiftRow moves the row of an id and leaves the others.
func ShiftRow(s *Store, id store.RecordID) error {
	row, err := s.Row(id)
	if err != nil {
		return err
	}
	row.Offset++
	return s.env.update(func(txn *mdb.Txn) error { return txn.Put(s.env.rows, encodeID(id), row.AppendTo(nil), 0) })
}

// Committing is the profile with a call before every commit.
func (p Profile) Committing(commit func() error) Profile {
	p.hooks.commit = commit
	return p
}

// Batches is the profile with reloads in batches of that many rows.
func (p Profile) Batches(rows uint64) Profile {
	p.hooks.batchRows = rows
	return p
}

// EnvOf is the directory that In has chosen.
func EnvOf(p Profile) string { return p.hooks.envDir("") }
