package index

import (
	"hash/maphash"

	"github.com/lace-store/lace/pkg/store"
)

// budgetEvery is how many records a scan examines between two looks at the
// memory budget.
const budgetEvery = 1 << 12

// build is one scan: every record of a range is visited once, in id order,
// and each of its facts goes to the lists and tables that are about it.
type build struct {
	rows     Rows
	seed     maphash.Seed
	grow     []*growing
	enforce  func() bool // keeps a budget; false ends the scan
	examined uint64

	id      store.RecordID // the record being visited
	fields  map[string]*fieldGroup
	links   map[string]*linkGroup
	targets map[string]*growing
	anyLink *growing // the table of all link targets
}

// fieldGroup is what is built about one field name.
type fieldGroup struct {
	presence *growing
	exact    map[string]*growing
	prefixes []*growing
	table    *growing
}

// linkGroup is what is built about one link name.
type linkGroup struct {
	data  map[string]*growing
	table *growing
}

func newBuild(rows Rows, seed maphash.Seed, grow []*growing) *build {
	b := &build{rows: rows, seed: seed, grow: grow, enforce: func() bool { return true }}
	b.dispatch()
	return b
}

// Build returns the lists of keys over (0, hi], by one scan. Their memory is
// the caller's to bound.
func Build(rows Rows, keys []Key, hi store.Position) ([]*Posting, error) {
	grow := make([]*growing, 0, len(keys))
	lists := make([]*Posting, len(keys))
	first := make(map[Key]*Posting, len(keys))
	for i, k := range keys {
		if lists[i] = first[k]; lists[i] == nil {
			lists[i] = &Posting{}
			first[k] = lists[i]
			grow = append(grow, &growing{key: k, list: lists[i]})
		}
	}
	if err := newBuild(rows, maphash.MakeSeed(), grow).scan(0, hi); err != nil {
		return nil, err
	}
	for _, p := range lists {
		p.Cover(hi)
	}
	return lists, nil
}

// dispatch arranges what is built by what a fact must say to belong to it.
func (b *build) dispatch() {
	b.fields, b.links = make(map[string]*fieldGroup), make(map[string]*linkGroup)
	b.targets, b.anyLink = make(map[string]*growing), nil
	for _, g := range b.grow {
		switch g.key.Shape {
		case store.FieldPresence, store.FieldExact, store.FieldPrefix:
			b.field(g.key.Name).add(g)
		case store.LinkNameData:
			b.link(g.key.Name).add(g)
		case store.LinkTarget:
			if g.table != nil {
				b.anyLink = g
			} else {
				b.targets[g.key.Value] = g
			}
		}
	}
}

func (b *build) field(name string) *fieldGroup {
	f := b.fields[name]
	if f == nil {
		f = &fieldGroup{exact: make(map[string]*growing)}
		b.fields[name] = f
	}
	return f
}

func (f *fieldGroup) add(g *growing) {
	switch {
	case g.table != nil:
		f.table = g
	case g.key.Shape == store.FieldPresence:
		f.presence = g
	case g.key.Shape == store.FieldPrefix:
		f.prefixes = append(f.prefixes, g)
	default:
		f.exact[g.key.Value] = g
	}
}

func (b *build) link(name string) *linkGroup {
	l := b.links[name]
	if l == nil {
		l = &linkGroup{data: make(map[string]*growing)}
		b.links[name] = l
	}
	return l
}

func (l *linkGroup) add(g *growing) {
	if g.table != nil {
		l.table = g
	} else {
		l.data[g.key.Value] = g
	}
}

// scan examines the records of (from, hi]. It ends early, without error, when
// the budget leaves nothing to build.
func (b *build) scan(from, hi store.Position) error {
	for pos := from + 1; pos <= hi; pos++ {
		b.id = store.RecordID(pos)
		rec, err := b.rows.Load(b.id)
		if err != nil {
			return err
		}
		if rec.ID != b.id {
			return &store.Error{Kind: store.CorruptStore, Doing: "build posting lists", ID: b.id, Found: "no committed row"}
		}
		if err := visit(rec, b); err != nil {
			return err
		}
		b.examined++
		if uint64(pos)%budgetEvery == 0 && !b.enforce() {
			return nil
		}
	}
	b.enforce()
	return nil
}

// Field implements fact.Visitor.
func (b *build) Field(name []byte, _ int, value []byte) bool {
	f := b.fields[string(name)]
	if f == nil {
		return true
	}
	f.presence.take(b.id)
	f.exact[string(value)].take(b.id)
	for _, g := range f.prefixes {
		if len(value) >= len(g.key.Value) && string(value[:len(g.key.Value)]) == g.key.Value {
			g.take(b.id)
		}
	}
	if f.table != nil {
		f.table.takeWord(hashBytes(b.seed, value), b.id)
	}
	return true
}

// Link implements fact.Visitor.
func (b *build) Link(name []byte, _ int, data, target []byte) bool {
	b.targets[string(target)].take(b.id)
	if b.anyLink != nil {
		b.anyLink.takeWord(hashBytes(b.seed, target), b.id)
	}
	if l := b.links[string(name)]; l != nil {
		l.data[string(data)].take(b.id)
		if l.table != nil {
			l.table.takeWord(hashBytes(b.seed, data), b.id)
		}
	}
	return true
}

// Contains implements fact.Visitor. No list is about containment, and nothing
// else follows it.
func (b *build) Contains([]byte) bool { return false }

// take adds a record that has one more fact of the key. A list that starts
// later than the scan, or has the record already, stays as it is.
func (g *growing) take(id store.RecordID) {
	if g != nil && store.Position(id) > g.from && id > g.list.last {
		g.list.Append(id)
	}
}

func (g *growing) takeWord(hash uint64, id store.RecordID) {
	if store.Position(id) > g.from {
		g.words = append(g.words, hash|uint64(id))
	}
}

// growth returns by how many bytes the scan has grown what it builds, and
// which of it to give up first.
func (b *build) growth() (extra int64, worst *growing) {
	for _, g := range b.grow {
		extra += g.size() - g.bytes
		if worst == nil || worst.wants && !g.wants || worst.wants == g.wants && g.size() > worst.size() {
			worst = g
		}
	}
	return extra, worst
}

func (g *growing) size() int64 {
	if g.table != nil {
		return g.bytes + int64(cap(g.words))*8
	}
	return g.list.Bytes()
}
