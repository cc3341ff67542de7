//go:build cgo

package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mdb "github.com/PowerDNS/lmdb-go/lmdb"
)

// environment is one that LMDB writes, with databases of the kinds that a root
// has.
type environment struct {
	t                      testing.TB
	env                    *mdb.Env
	file                   string
	rows, hashes, postings mdb.DBI
	next                   uint64
}

func newEnvironment(t testing.TB) *environment {
	t.Helper()
	env, err := mdb.NewEnv()
	must(t, err)
	dir := t.TempDir()
	must(t, errors.Join(env.SetMaxDBs(3), env.SetMapSize(1<<28), env.Open(dir, mdb.NoSync, 0o666)))
	t.Cleanup(func() { must(t, env.Close()) })
	e := &environment{t: t, env: env, file: filepath.Join(dir, "data.mdb")}
	e.update(func(txn *mdb.Txn) (err error) {
		for _, d := range []struct {
			dbi   *mdb.DBI
			name  string
			flags uint
		}{{&e.rows, "rows", 0}, {&e.hashes, "hashes", 0}, {&e.postings, "postings", mdb.DupSort | mdb.DupFixed}} {
			if *d.dbi, err = txn.OpenDBI(d.name, d.flags|mdb.Create); err != nil {
				return err
			}
		}
		return nil
	})
	return e
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *environment) update(f func(txn *mdb.Txn) error) {
	e.t.Helper()
	must(e.t, e.env.Update(f))
}

// fill admits n rows, each with some of a few hundred keys, as a root does.
func (e *environment) fill(r *rand.Rand, n int) {
	e.t.Helper()
	e.update(func(txn *mdb.Txn) error {
		for range n {
			e.next++
			id := binary.BigEndian.AppendUint64(nil, e.next)
			hash := fmt.Appendf(nil, "%048x", r.Uint64())
			err := errors.Join(txn.Put(e.rows, id, bytes.Repeat([]byte{1}, 64), mdb.Append), txn.Put(e.hashes, hash, id, 0))
			for range r.IntN(10) {
				key := fmt.Appendf(nil, "%*d", 1+r.IntN(200), r.IntN(1+r.IntN(300)))
				err = errors.Join(err, txn.Put(e.postings, key, id, 0))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// empty empties the databases, as the first batch of a reload does.
func (e *environment) empty() {
	e.t.Helper()
	e.update(func(txn *mdb.Txn) error {
		return errors.Join(txn.Drop(e.rows, false), txn.Drop(e.hashes, false), txn.Drop(e.postings, false))
	})
	e.next = 0
}

// bytes returns the file and its last transaction.
func (e *environment) bytes() (file []byte, txn uint64) {
	e.t.Helper()
	file, err := os.ReadFile(e.file)
	must(e.t, err)
	info, err := e.env.Info()
	must(e.t, err)
	return file, uint64(info.LastTxnID)
}

func check(file []byte, txn uint64) (*checker, error) {
	c := &checker{file: bytes.NewReader(file)}
	return c, c.run(uint64(len(file)), txn)
}

// Whatever LMDB has written passes, and every page of it is found: it belongs to
// a tree, is free, or is one of the two meta pages.
func TestEveryPageIsFound(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 1))
		e := newEnvironment(t)
		for step := range 18 {
			if step > 0 && r.IntN(6) == 0 {
				e.empty()
			} else {
				e.fill(r, 1+r.IntN(900))
			}
			file, txn := e.bytes()
			c, err := check(file, txn)
			if err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			found := uint64(2 + len(c.free))
			for _, word := range c.seen {
				found += uint64(bits.OnesCount64(word))
			}
			if found != c.last+1 {
				t.Fatalf("seed %d, step %d: %d pages found of %d", seed, step, found, c.last+1)
			}
			if err := Check(bytes.NewReader(file), int64(len(file)), txn, Skip{"postings"}); err != nil {
				t.Errorf("seed %d, step %d, without postings: %v", seed, step, err)
			}
			if err := Check(bytes.NewReader(file), int64(len(file)), txn+1, nil); !errors.Is(err, ErrNoCommit) {
				t.Errorf("a commit that is not there: %v", err)
			}
		}
	}
}

// A file that is cut is refused exactly if a page of a tree is gone: LMDB may
// leave pages unwritten that are free again when it commits.
func TestCutFile(t *testing.T) {
	e := newEnvironment(t)
	e.fill(rand.New(rand.NewPCG(1, 1)), 800)
	e.empty()
	for range 6 { // commits, until the pages that were emptied are used again
		e.fill(rand.New(rand.NewPCG(2, 1)), 20)
	}
	file, txn := e.bytes()
	whole, err := check(file, txn)
	must(t, err)
	refused, passed := 0, 0
	for pages := uint64(2); pages < whole.pages; pages++ {
		lost := false
		for n := pages; n < whole.pages; n++ {
			lost = lost || whole.seen[n/64]>>(n%64)&1 != 0
		}
		for _, size := range []uint64{pages * uint64(whole.pageSize), (pages+1)*uint64(whole.pageSize) - 1} {
			_, err := check(file[:size], txn)
			if lost != (err != nil) || err != nil && !strings.Contains(err.Error(), "behind the end of the file") {
				t.Errorf("%d of %d bytes: %v", size, len(file), err)
			}
		}
		if lost {
			refused++
		} else {
			passed++
		}
	}
	if refused == 0 || passed == 0 {
		t.Errorf("%d refused, %d passed: one of both is not tried", refused, passed)
	}
	for _, size := range []int{0, 16, 100, 4096, 4200} {
		if _, err := check(file[:size], txn); err == nil {
			t.Errorf("%d bytes pass", size)
		}
	}
}

// A page that is damaged where LMDB would be led astray is refused.
func TestDamagedPages(t *testing.T) {
	e := newEnvironment(t)
	e.fill(rand.New(rand.NewPCG(1, 1)), 900)
	e.empty()
	e.fill(rand.New(rand.NewPCG(2, 1)), 400)
	file, txn := e.bytes()
	whole, err := check(file, txn)
	must(t, err)
	size := whole.pageSize
	put16 := func(at int, v uint16) func([]byte) { return func(p []byte) { order.PutUint16(p[at:], v) } }
	for name, damage := range map[string]func(page []byte){
		"zeros":                func(p []byte) { clear(p) },
		"another number":       func(p []byte) { p[3] ^= 1 },
		"another kind":         put16(10, 0x08),
		"free space too large": put16(14, 0xffff),
		"no node":              put16(12, headerLen),
		"odd number of bytes":  put16(12, headerLen+1),
	} {
		tried := 0
		for n := uint64(2); n < whole.pages; n++ {
			if whole.seen[n/64]>>(n%64)&1 == 0 {
				continue
			}
			damaged := bytes.Clone(file)
			page := damaged[int(n)*size:][:size]
			if order.Uint16(page[10:]) == overflowPage && name != "zeros" && name != "another number" && name != "another kind" {
				continue // it has no nodes
			}
			if order.Uint64(page) != n {
				continue // a page behind the first of an overflow has no header
			}
			damage(page)
			tried++
			if _, err := check(damaged, txn); err == nil {
				t.Errorf("%s in page %d passes", name, n)
			}
		}
		if tried < 10 {
			t.Errorf("%s: tried in %d pages", name, tried)
		}
	}
}

// Pages that are named twice, free while they are used, or free and not there.
func TestPagesOfTwoPlaces(t *testing.T) {
	c := &checker{last: 9, pages: 10, pageSize: 8, seen: make([]uint64, 1), file: bytes.NewReader(make([]byte, 80))}
	for _, number := range []uint64{0, 1, 10, none} {
		if _, err := c.page(number, 1); err == nil {
			t.Errorf("page %d passes", number)
		}
	}
	c.seen[0] = 1 << 5
	if _, err := c.page(4, 2); err == nil || !strings.Contains(err.Error(), "page 5: it belongs to two places") {
		t.Errorf("%v", err)
	}
	for want, free := range map[string][]uint64{
		"page 5: it is free and belongs to a tree": {7, 5}, "page 7: it is free twice": {7, 2, 7},
		"page 1: a free page": {1}, "page 10: a free page": {10}, "": {3, 2, 9},
	} {
		c.free = free
		if err := c.checkFree(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("free %v: %v, want %q", free, err, want)
		}
	}
}

// FuzzCheck: whatever the bytes are, a check ends without a panic, and sets no
// more memory aside than the file has.
func FuzzCheck(f *testing.F) {
	for seed, rows := range []int{0, 3, 20} {
		e := newEnvironment(f)
		e.fill(rand.New(rand.NewPCG(uint64(seed), 1)), rows)
		file, txn := e.bytes()
		f.Add(file, txn)
	}
	f.Fuzz(func(t *testing.T, file []byte, txn uint64) {
		c, err := check(file, txn)
		if err == nil && len(c.free)*8 > len(file) {
			t.Errorf("%d free pages in %d bytes", len(c.free), len(file))
		}
	})
}
