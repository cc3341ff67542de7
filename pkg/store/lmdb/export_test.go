//go:build cgo

package lmdb

import (
	mdb "github.com/PowerDNS/lmdb-go/lmdb"

	"github.com/lace-store/lace/pkg/store"
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
