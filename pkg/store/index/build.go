package index

import (
	"fmt"
	"math"
	"slices"

	"github.com/lace-store/lace/pkg/store"
)

// growing is a list or a table that a scan extends over (from, hi].
type growing struct {
	entry *entry // nil for a table
	list  *Posting
	table *valueTable
	key   Key // of the entry or of the table
	from  store.Position
	words []uint64
	bytes int64
	wants bool // the query asks for it; the others merely join
	fresh bool // there was no list before
}

// repair brings every asked list and table up to hi by one scan, and with
// them whatever else is hot and lacks records of the same range.
func (c *Cache) repair(asks []asked, hi store.Position) {
	grow := c.toGrow(asks, hi)
	if len(grow) == 0 {
		return
	}
	from := hi
	for _, g := range grow {
		from = min(from, g.from)
	}
	grow = c.join(grow, from, hi)
	b := newBuild(c.rows, c.seed, grow)
	b.enforce = func() bool { return c.enforce(b) }
	err := b.scan(from, hi)
	c.stats.Scans++
	c.stats.RecordsScanned += b.examined
	for _, g := range b.grow {
		switch {
		case err != nil:
			c.discard(g)
		case g.table != nil:
			c.adoptTable(g, hi)
		default:
			c.adoptList(g, asks, hi)
		}
	}
	if err != nil {
		// The query answers by a scan and meets the same record, or never
		// gets that far.
		c.fail(err)
	}
	c.shrink(0)
}

// toGrow returns what the query itself needs.
func (c *Cache) toGrow(asks []asked, hi store.Position) []*growing {
	var grow []*growing
	for i := range asks {
		a := &asks[i]
		switch {
		case a.table != nil:
			tk, _ := tableKey(a.entry.key)
			if g := c.growTable(tk, a.table, hi); g != nil && !growsTable(grow, a.table) {
				g.wants = true
				grow = append(grow, g)
			}
		case !growsList(grow, a.entry):
			if g := growList(a.entry, a.list, hi); g != nil {
				g.wants = true
				grow = append(grow, g)
			}
		}
	}
	return grow
}

// Two keys of one query may lean on one presence list or one table.

func growsList(grow []*growing, e *entry) bool {
	return slices.ContainsFunc(grow, func(g *growing) bool { return g.entry == e })
}

func growsTable(grow []*growing, t *valueTable) bool {
	return slices.ContainsFunc(grow, func(g *growing) bool { return g.table == t })
}

// growList returns how the list of e gets to hi, nil when there is nothing to
// do. A hot list is extended in place: cursors end below what is appended. A
// cold one may be held by a query and is replaced.
func growList(e *entry, held *Posting, hi store.Position) *growing {
	g := &growing{entry: e, key: e.key}
	switch {
	case held == nil && !e.isHot():
		return nil
	case held == nil:
		g.list, g.fresh = &Posting{}, true
	case held.CheckedThrough() >= hi || e.refused:
		return nil
	case e.class == hot && e.list == held:
		g.list, g.from = held, held.CheckedThrough()
	default:
		g.list, g.from = held.Clone(), held.CheckedThrough()
	}
	g.bytes = g.list.Bytes()
	return g
}

// growTable is growList for the table that k belongs to.
func (c *Cache) growTable(k Key, t *valueTable, hi store.Position) *growing {
	if hi >= math.MaxUint32 {
		t.refused = true // an id takes the lower half of a word
	}
	if !t.wanted() || t.through >= hi {
		return nil
	}
	return &growing{table: t, key: k, from: t.through, bytes: t.bytes}
}

// join adds the hot lists and tables that lack records of (from, hi] and none
// before it, so that one pass over the records serves all of them.
func (c *Cache) join(grow []*growing, from, hi store.Position) []*growing {
	for el := c.byHeat[hot].Front(); el != nil; el = el.Next() {
		grow = c.joinList(grow, el.Value.(*entry), from, hi)
	}
	if from == 0 {
		for el := c.byHeat[counted].Front(); el != nil; el = el.Next() {
			if e := el.Value.(*entry); e.expected {
				grow = c.joinList(grow, e, from, hi)
			}
		}
	}
	for k, t := range c.tables {
		if t.tick == c.tick {
			continue
		}
		if g := c.growTable(k, t, hi); g != nil && g.from >= from {
			t.tick = c.tick
			grow = append(grow, g)
		}
	}
	return grow
}

func (c *Cache) joinList(grow []*growing, e *entry, from, hi store.Position) []*growing {
	if e.tick == c.tick {
		return grow
	}
	if g := growList(e, e.list, hi); g != nil && g.from >= from {
		e.tick = c.tick
		return append(grow, g)
	}
	return grow
}

// adoptList makes a list that now reaches hi the one of its key, and hands it
// to the query if the query asks for it.
func (c *Cache) adoptList(g *growing, asks []asked, hi store.Position) {
	if g.fresh {
		c.stats.ListsBuilt++
	} else {
		c.stats.ListsRepaired++
	}
	g.list.Cover(hi)
	if g.wants {
		g.entry.saved += uint64(hi - g.from)
	}
	for i := range asks {
		if asks[i].entry == g.entry {
			asks[i].list = g.list
		}
	}
	to := g.entry.class
	if g.entry.isHot() {
		to = hot
	} else if to == counted {
		to = cold
	}
	c.keep(g.entry, g.list, to)
}

func (c *Cache) adoptTable(g *growing, hi store.Position) {
	if g.from == 0 {
		c.stats.TablesBuilt++
	}
	before := g.table.bytes
	g.table.extend(g.words, hi)
	c.bytes += g.table.bytes - before
}

// discard forgets a list or table that a scan could not bring to its end, and
// does not try again in this opening.
func (c *Cache) discard(g *growing) {
	if g.table != nil {
		g.table.refused = true
		c.bytes -= g.table.bytes
		g.table.segments, g.table.bytes, g.table.through = nil, 0, 0
		return
	}
	g.entry.refused = true
	c.drop(g.entry)
}

// enforce keeps the budget while lists grow: other lists give way first, then
// what merely joined the scan, then the largest. It reports whether anything
// is left to build.
func (c *Cache) enforce(b *build) bool {
	for {
		extra, worst := b.growth()
		if worst == nil {
			return false
		}
		c.shrink(extra)
		if c.bytes+extra <= c.budget() {
			return true
		}
		c.giveUp(worst)
		b.grow = slices.DeleteFunc(b.grow, func(g *growing) bool { return g == worst })
		b.dispatch()
		c.fail(fmt.Errorf("list of %s has no room in %d bytes", worst.key, c.budget()))
	}
}

// giveUp drops what merely joined, to be built when it is asked for; what the
// query asks for and has no room is never tried again in this opening.
func (c *Cache) giveUp(g *growing) {
	if g.wants || g.table != nil {
		c.discard(g)
		return
	}
	c.evict(g.entry)
}
