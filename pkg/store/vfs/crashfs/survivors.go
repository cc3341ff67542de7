package crashfs

import (
	"fmt"
	"math"
)

// Survivors chooses what a crash leaves of the things that are not durable.
// Things are numbered from 0 in the order of Pending: for each file, every
// change of its bytes and every change of its size; for each directory, every
// change of an entry. The zero value keeps none of them.
type Survivors struct {
	mode  mode
	thing int
	seed  uint64
}

type mode uint8

const (
	keepNone mode = iota
	keepAll
	keepAllBut
	keepOnly
	keepRandom
)

// None keeps nothing that is not durable.
func None() Survivors { return Survivors{} }

// All keeps everything, as if each thing had just reached the disk.
func All() Survivors { return Survivors{mode: keepAll} }

// AllBut loses one thing alone.
func AllBut(thing int) Survivors { return Survivors{mode: keepAllBut, thing: thing} }

// Only keeps one thing alone.
func Only(thing int) Survivors { return Survivors{mode: keepOnly, thing: thing} }

// Random keeps, loses or tears each thing as the seed says.
func Random(seed uint64) Survivors { return Survivors{mode: keepRandom, seed: seed} }

// String is the text that ParseSurvivors reads.
func (s Survivors) String() string {
	switch s.mode {
	case keepAll:
		return "all"
	case keepAllBut:
		return fmt.Sprintf("all-but:%d", s.thing)
	case keepOnly:
		return fmt.Sprintf("only:%d", s.thing)
	case keepRandom:
		return fmt.Sprintf("random:%d", s.seed)
	}
	return "none"
}

// ParseSurvivors reads what String wrote, so that a failure can be replayed.
func ParseSurvivors(text string) (Survivors, error) {
	switch text {
	case "none":
		return None(), nil
	case "all":
		return All(), nil
	}
	var s Survivors
	for format, mode := range map[string]mode{"all-but:%d": keepAllBut, "only:%d": keepOnly} {
		if _, err := fmt.Sscanf(text, format, &s.thing); err == nil {
			s.mode = mode
		}
	}
	if _, err := fmt.Sscanf(text, "random:%d", &s.seed); err == nil {
		s.mode = keepRandom
	}
	if s.String() != text {
		return Survivors{}, fmt.Errorf("survivors %q: want none, all, all-but:N, only:N or random:SEED", text)
	}
	return s, nil
}

// kept says whether a thing survives, or one of its sectors.
func (s Survivors) kept(thing int, index int64) bool {
	switch s.mode {
	case keepAll:
		return true
	case keepAllBut:
		return thing != s.thing
	case keepOnly:
		return thing == s.thing
	case keepRandom:
		return s.draw(thing, index)
	}
	return false
}

// draw decides by the seed. A quarter of the things are torn: each 512 or 4096
// bytes of them, the same in one crash, is decided apart.
func (s Survivors) draw(thing int, index int64) bool {
	whole := mix(s.seed, 0, 0)
	kept := 1 + whole%3 // of four things that are not torn
	if whole>>8&1 == 0 {
		index /= 4096 / sectorBytes
	}
	h := mix(s.seed, uint64(thing)+1, 0)
	if h%4 == 0 {
		h = mix(s.seed, uint64(thing)+1, uint64(index)+1)
	}
	return h>>8%4 < kept
}

// fate gives a change of a file its numbers and what survives of it.
func (s Survivors) fate(c change, thing *int) fate {
	first := *thing
	*thing += c.things()
	if c.kind == truncated {
		return fate{size: s.kept(first, 0)}
	}
	return fate{
		size: c.sized && s.kept(first+1, 0),
		data: func(index int64) bool { return s.kept(first, index) },
	}
}

// things is how many things a change is: a truncation takes bytes and size
// together, a write past the end has them apart.
func (c change) things() int {
	if c.kind != truncated && c.sized {
		return 2
	}
	return 1
}

// mix spreads three numbers over 64 bits.
func mix(a, b, c uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, v := range [3]uint64{a, b, c} {
		h = (h ^ v) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>29) * 0x94d049bb133111eb
		h ^= h >> 32
	}
	return h
}

// Survivors returns the choices worth trying now: nothing, everything, each
// thing lost alone, each kept alone, and random ones from the seed on. Choices
// that come to the same are left out.
func (f *FS) Survivors(random int, seed uint64) []Survivors {
	n := len(f.Pending())
	choices := []Survivors{None()}
	if n == 0 {
		return choices
	}
	choices = append(choices, All())
	for i := 0; n > 1 && i < n; i++ {
		choices = append(choices, AllBut(i))
		if n > 2 { // of two things, one kept alone is the other lost alone
			choices = append(choices, Only(i))
		}
	}
	for i := range random {
		choices = append(choices, Random(seed+uint64(i)))
	}
	return choices
}

// Pending describes the things that are not durable, in the order of their
// numbers.
func (f *FS) Pending() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var texts []string
	for _, t := range f.things() {
		texts = append(texts, t.text())
	}
	return texts
}

// thing is one thing that is not durable.
type thing struct {
	node  *inode
	size  bool         // the size of the change, not its bytes
	bytes *change      // of a file, or
	entry *entryChange // of a directory
}

func (f *FS) things() []thing {
	var things []thing
	for _, n := range f.reachable() {
		for i := range n.pending {
			c := &n.pending[i]
			things = append(things, thing{node: n, bytes: c, size: c.kind == truncated})
			if c.things() == 2 {
				things = append(things, thing{node: n, bytes: c, size: true})
			}
		}
		for i := range n.pendingEntries {
			things = append(things, thing{node: n, entry: &n.pendingEntries[i]})
		}
	}
	return things
}

func (t thing) text() string {
	switch {
	case t.entry != nil && t.entry.id == 0:
		return fmt.Sprintf("%s: no entry %s", t.node.name, t.entry.name)
	case t.entry != nil:
		return fmt.Sprintf("%s: entry %s of inode %d", t.node.name, t.entry.name, t.entry.id)
	case t.size:
		return fmt.Sprintf("%s: size %d", t.node.name, t.bytes.size)
	case t.bytes.kind == punched:
		return fmt.Sprintf("%s: hole [%d, %d)", t.node.name, t.bytes.off, t.bytes.off+t.bytes.n)
	}
	return fmt.Sprintf("%s: bytes [%d, %d)", t.node.name, t.bytes.off, t.bytes.off+t.bytes.n)
}

// lastEntry is the order of the last change of an entry that survives, when
// such changes survive in order.
func (s Survivors) lastEntry(things []thing) uint64 {
	switch s.mode {
	case keepNone:
		return 0
	case keepAll:
		return math.MaxUint64
	case keepAllBut, keepOnly:
		last := uint64(0)
		if s.mode == keepAllBut {
			last = math.MaxUint64
		}
		if s.thing < len(things) && things[s.thing].entry != nil {
			last = things[s.thing].entry.order
			if s.mode == keepAllBut {
				last--
			}
		}
		return last
	}
	var orders []uint64
	for _, t := range things {
		if t.entry != nil {
			orders = append(orders, t.entry.order)
		}
	}
	if choice := mix(s.seed, 1, 1) % uint64(len(orders)+1); choice < uint64(len(orders)) {
		return orders[choice] - 1
	}
	return math.MaxUint64
}
