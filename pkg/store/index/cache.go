package index

import (
	"container/list"
	"fmt"
	"hash/maphash"
	"math"

	"github.com/lace-store/lace/pkg/store"
)

// Durable holds posting lists that outlive an opening; pkg/store/index/listdir
// is the one over a directory. A failure of it costs speed, never an answer.
type Durable interface {
	// Keys calls yield with the keys that have a path, usable or not, until
	// it returns false. An error says that not all could be found.
	Keys(yield func(Key) bool) error
	// Read returns the list of a key, nil when there is none, and an error
	// when there is one that cannot be used. highWater bounds what it holds.
	Read(k Key, highWater store.Position) (*Posting, error)
	// Publish durably replaces the list of a key. A key that cannot be a path
	// is no error; false says that nothing was written.
	Publish(k Key, p *Posting) (bool, error)
}

// Options bound a Cache. The zero value means the defaults.
type Options struct {
	// MemoryBytes bounds all lists together, in bytes; by default 64 MiB, or 32
	// bytes a record where that is more: half of what the row table takes.
	MemoryBytes int64
	// ColdLists bounds the lists that were read but not asked for again; 256
	// by default.
	ColdLists int
	// Keys bounds the keys whose heat is remembered; 65,536 by default.
	Keys int
	// Durable, unless nil, is where lists are read from.
	Durable Durable
	// Publish lets lists be published to Durable. Read-only openings and
	// sweeps leave it false.
	Publish bool
}

// Defaults of Options.
const (
	defaultMemoryBytes     = 64 << 20
	defaultMemoryPerRecord = 32
	defaultColdLists       = 256
	defaultKeys            = 1 << 16
)

// hotAfter is how often a key is asked for before its list is built, and how
// many values of one field before a table of all its values is.
const hotAfter = 2

func (o Options) withDefaults() Options {
	if o.ColdLists == 0 {
		o.ColdLists = defaultColdLists
	}
	if o.Keys == 0 {
		o.Keys = defaultKeys
	}
	return o
}

// Stats says what a Cache has done since it was made.
type Stats struct {
	Scans           uint64 // scans that built or repaired lists
	RecordsScanned  uint64 // records they examined
	ListsBuilt      uint64 // lists built from nothing
	ListsRead       uint64 // lists read from Durable
	ListsRepaired   uint64 // lagging lists brought up to a boundary
	ListsEvicted    uint64 // lists dropped from memory, for their number or size
	ListsPublished  uint64
	TablesBuilt     uint64
	Failures        uint64 // lists that could not be read, built or published
	LastFailure     error  // the latest of them
	ResidentBytes   int64
	ResidentColdLen int
	ResidentHotLen  int
}

// Cache owns the posting lists of one opened store and decides which to build:
//
//	a key asked for once     a durable list if there is one, kept among the
//	                         bounded cold lists; else other lists or a scan
//	asked for again          hot: its list is built in memory, together with
//	                         all others that lack the same records, by one
//	                         scan in id order
//	a list behind the bound  repaired by a scan of exactly what it lacks
//
// Without Publish, a field of which several values are asked for gets one
// table of all its values instead (valueTable): a join asks for each value
// once or twice, and a scan for each would never end.
//
// It is not safe for concurrent use. Lists live in memory only as long as it.
type Cache struct {
	rows    Rows
	opts    Options
	entries map[Key]*entry
	byHeat  [classes]list.List // of *entry, most recently asked first
	tables  map[Key]*valueTable
	seed    maphash.Seed
	tick    uint64 // counts Prepare, to know what the current query asks for
	bytes   int64
	mute    bool // publishing failed once
	stats   Stats
}

// NewCache returns a Cache over rows. Keys that have a durable path start out
// as if asked for once.
func NewCache(rows Rows, opts Options) *Cache {
	c := &Cache{
		rows: rows, opts: opts.withDefaults(),
		entries: make(map[Key]*entry), tables: make(map[Key]*valueTable), seed: maphash.MakeSeed(),
		tick: 1, // an entry that no query asked for has the tick zero
	}
	if c.opts.Durable != nil {
		err := c.opts.Durable.Keys(func(k Key) bool {
			c.entry(k).asks = hotAfter - 1
			return len(c.entries) < c.opts.Keys
		})
		if err != nil {
			c.fail(err)
		}
	}
	return c
}

// Stats returns what was done so far and what is resident now.
func (c *Cache) Stats() Stats {
	s := c.stats
	s.ResidentBytes = c.bytes
	s.ResidentColdLen = c.byHeat[cold].Len()
	s.ResidentHotLen = c.byHeat[hot].Len()
	return s
}

// Expect says that these queries will be asked, again and again: the first of
// them builds the lists of all in one scan.
func (c *Cache) Expect(queries ...store.Query) {
	for _, q := range queries {
		if !q.Hash.IsZero() {
			continue
		}
		for _, k := range KeysOf(q) {
			e := c.entry(k)
			e.expected = true
			e.asks = max(e.asks, hotAfter)
		}
	}
}

// asked is one key of the query that is being prepared, with the list that
// the query holds whatever happens to the cache.
type asked struct {
	entry *entry
	list  *Posting
	table *valueTable
}

// Prepare implements Lists.
func (c *Cache) Prepare(keys []Key, lo, hi store.Position) []Candidates {
	c.tick++
	asks := make([]asked, 0, len(keys))
	for _, k := range keys {
		asks = append(asks, c.ask(k))
	}
	c.repair(asks, hi)
	var out []Candidates
	var used []*Posting
	for i := range asks {
		out, used = c.candidates(out, used, &asks[i], lo, hi)
	}
	c.publish(asks)
	return out
}

// ask counts a key and fetches what there is for it already.
func (c *Cache) ask(k Key) asked {
	e := c.entry(k)
	e.tick = c.tick
	e.asks++
	switch {
	case e.list != nil:
		c.place(e, hot)
	case c.opts.Durable != nil && !e.tried:
		c.readDurable(e)
	}
	a := asked{entry: e, list: e.list}
	if e.list != nil || e.expected && e.isHot() {
		return a
	}
	if a.table = c.askTable(e); a.table == nil && !e.isHot() {
		c.askPresence(&a)
	}
	return a
}

// askTable counts the value that e is about, and returns the table of all
// values once several were asked for.
func (c *Cache) askTable(e *entry) *valueTable {
	t := c.tableOf(e.key)
	if t == nil {
		return nil
	}
	if e.asks == 1 {
		t.values++
	}
	if !t.wanted() {
		return nil
	}
	t.tick = c.tick
	return t
}

// askPresence lets a key without a list be narrowed by the presence list of
// its field, when that is resident.
func (c *Cache) askPresence(a *asked) {
	p, ok := a.entry.key.Presence()
	if !ok {
		return
	}
	if e := c.entries[p]; e != nil && e.list != nil {
		e.tick = c.tick
		c.place(e, e.class)
		a.entry, a.list = e, e.list
	}
}

// readDurable fetches the durable list of e as a cold one.
func (c *Cache) readDurable(e *entry) {
	p, err := c.opts.Durable.Read(e.key, c.rows.Position())
	if p != nil && err == nil {
		err = c.checkSentinel(e.key, p)
	}
	// This opening owns the root: what is absent or unusable stays so until it
	// publishes the key itself.
	e.tried = p == nil || err != nil
	if err != nil {
		c.fail(err)
	}
	if e.tried {
		return
	}
	c.stats.ListsRead++
	e.published = p.CheckedThrough()
	c.keep(e, p, cold)
}

// checkSentinel looks at the record that the list says it examined last. A
// list file cut off behind any of its words still reads as a list, whose
// sentinel then is the first id that it lacks: only that record tells.
func (c *Cache) checkSentinel(k Key, p *Posting) error {
	id := store.RecordID(p.CheckedThrough())
	if id == 0 {
		return nil
	}
	rec, err := c.rows.Load(id)
	if err != nil {
		return err
	}
	matches, err := Match(rec, store.Query{Constraints: []store.Constraint{store.Constraint(k)}})
	if err == nil && matches != (p.last == id) {
		err = fmt.Errorf("list of %s is wrong about record #%d, the last that it covers", k, id)
	}
	return err
}

// candidates adds what narrows one asked key. Only a list that is complete
// through hi may: what it leaves out would be missing from the answer.
func (c *Cache) candidates(out []Candidates, used []*Posting, a *asked, lo, hi store.Position) ([]Candidates, []*Posting) {
	if a.list != nil && a.list.CheckedThrough() >= hi {
		for _, p := range used {
			if p == a.list {
				return out, used
			}
		}
		walk := a.list.Candidates(lo, hi)
		// What the durable list covers, it saves whether published again or
		// not.
		a.entry.saved += uint64(hi - min(hi, max(lo, a.entry.published)))
		return append(out, walk), append(used, a.list)
	}
	if a.table != nil && a.table.through >= hi {
		return append(out, a.table.candidates(hashString(c.seed, a.entry.key.Value), lo, hi)), used
	}
	return out, used
}

// publish makes lists durable that cover the high-water and that saved, or
// for want of them cost, at least one full scan in this opening: as many
// records behind what the durable list covers as the root has.
func (c *Cache) publish(asks []asked) {
	if c.opts.Durable == nil || !c.opts.Publish || c.mute {
		return
	}
	pos := c.rows.Position()
	for _, a := range asks {
		e := a.entry
		if a.list == nil || !e.isHot() || a.list.CheckedThrough() != pos || e.published == pos || e.saved < uint64(pos) {
			continue
		}
		done, err := c.opts.Durable.Publish(e.key, a.list)
		if err != nil {
			// What failed once is not tried again: a full or failing disk
			// would cost every query a sync.
			c.mute = true
			c.fail(err)
			return
		}
		e.published, e.saved = pos, 0
		if done {
			e.tried = false
			c.stats.ListsPublished++
		}
	}
}

// budget returns the bound on the memory of all lists, in bytes.
func (c *Cache) budget() int64 {
	if c.opts.MemoryBytes != 0 {
		return c.opts.MemoryBytes
	}
	const most = math.MaxInt64 / defaultMemoryPerRecord
	return max(defaultMemoryBytes, int64(min(c.rows.Position(), most))*defaultMemoryPerRecord)
}

// fail notes that acceleration was lost; the answer is not.
func (c *Cache) fail(err error) {
	c.stats.Failures++
	c.stats.LastFailure = err
}
