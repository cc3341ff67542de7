package index

import (
	"container/list"

	"github.com/lace-store/lace/pkg/store"
)

// class is where the cache keeps a key.
type class uint8

const (
	counted class = iota // only its heat is remembered
	cold                 // an immutable list that was read once
	hot                  // a list that the cache owns and extends
	classes
)

// entry is what the cache knows of one key.
type entry struct {
	key       Key
	asks      int
	tick      uint64
	list      *Posting
	bytes     int64 // what list is accounted with
	class     class
	place     *list.Element
	expected  bool // will be asked again: build it at the next occasion
	tried     bool // there is no durable list that can be used
	refused   bool // building its list failed or passed the budget
	published store.Position
	saved     uint64 // record visits that the list saved or its lack cost
}

func (e *entry) isHot() bool { return e.asks >= hotAfter && !e.refused }

// entry returns the entry of a key, most recently asked from now on. The
// number of entries is bounded: the one asked least recently gives way.
func (c *Cache) entry(k Key) *entry {
	if e := c.entries[k]; e != nil {
		c.byHeat[e.class].MoveToFront(e.place)
		return e
	}
	if len(c.entries) >= c.opts.Keys {
		c.forgetOne()
	}
	e := &entry{key: k}
	e.place = c.byHeat[counted].PushFront(e)
	c.entries[k] = e
	return e
}

// forgetOne spares what the current query asks for: it would come back as a
// second entry of its key.
func (c *Cache) forgetOne() {
	for cl := range c.byHeat {
		for el := c.byHeat[cl].Back(); el != nil; el = el.Prev() {
			if e := el.Value.(*entry); e.tick != c.tick {
				c.drop(e)
				c.byHeat[e.class].Remove(e.place)
				delete(c.entries, e.key)
				return
			}
		}
	}
}

// keep makes p the list of e and accounts for it.
func (c *Cache) keep(e *entry, p *Posting, cl class) {
	c.bytes += p.Bytes() - e.bytes
	e.list, e.bytes = p, p.Bytes()
	c.place(e, cl)
	for c.byHeat[cold].Len() > c.opts.ColdLists {
		c.evict(c.byHeat[cold].Back().Value.(*entry))
	}
	c.shrink(0)
}

// place moves e to the front of a class.
func (c *Cache) place(e *entry, cl class) {
	if e.class != cl {
		c.byHeat[e.class].Remove(e.place)
		e.class = cl
		e.place = c.byHeat[cl].PushFront(e)
		return
	}
	c.byHeat[cl].MoveToFront(e.place)
}

// evict drops the list of e from memory. A query that holds the list goes on
// with it. The key starts cold again, lest it be rebuilt at the next scan only
// to be evicted once more.
func (c *Cache) evict(e *entry) {
	c.drop(e)
	e.asks, e.expected = 0, false
	c.stats.ListsEvicted++
}

func (c *Cache) drop(e *entry) {
	c.bytes -= e.bytes
	e.list, e.bytes = nil, 0
	c.place(e, counted)
}

// shrink evicts lists until extra bytes more than now would keep the budget:
// cold ones first, then hot ones and tables that the current query neither
// asks for nor builds.
func (c *Cache) shrink(extra int64) {
	for cl := cold; cl <= hot; cl++ {
		el := c.byHeat[cl].Back()
		for el != nil && c.bytes+extra > c.budget() {
			e := el.Value.(*entry)
			el = el.Prev()
			if cl == cold || e.tick != c.tick {
				c.evict(e)
			}
		}
	}
	for k, t := range c.tables {
		if c.bytes+extra <= c.budget() {
			return
		}
		if t.tick != c.tick {
			c.dropTable(k, t)
		}
	}
}
