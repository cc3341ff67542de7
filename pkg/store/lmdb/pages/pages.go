// Package pages checks the pages of an LMDB environment by its file alone: that
// every page a commit names lies in the file, is what it should be and belongs
// to one tree. It must not know what the databases hold.
//
// LMDB believes its file. It reads it through a mapping, in C, where a page
// behind the end of the file or a length that leads out of it is a fault that
// ends the process, and pages have no checksums. So whoever is handed a data.mdb
// that may be cut short or damaged asks here first.
//
//	page     number u64, key size u16, flags u16, lower u16, upper u16, then
//	         lower-16 bytes of u16 offsets of nodes, and nodes up to the end
//	node     u16 low, u16 high, u16 flags, u16 key bytes, the key; low, high and
//	         flags of a branch are a page number, low and high of a leaf the
//	         bytes of data behind the key: data, a tree, a page inside the page,
//	         or the number of the first of some overflow pages
//	tree     u32 page or key size, u16 flags, u16 depth, four u64 counts, u64 root
//	meta     pages 0 and 1: magic u32, version u32, address u64, map size u64,
//	         the trees of free pages and of everything else, last page u64,
//	         transaction u64
//
// Numbers have the byte order of the machine, and LMDB's own sizes for 64 bits.
package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
)

// ErrNoCommit says that neither meta page is of the transaction: another process
// has committed twice since it began.
var ErrNoCommit = errors.New("no meta page of this transaction")

// Error is damage in a page.
type Error struct {
	Page  uint64
	Found string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("page %d: %s", e.Page, e.Found) }

// The layout, in bytes.
const (
	headerLen = 16
	nodeLen   = 8
	treeLen   = 48
	metaLen   = 136
	minPage   = 512
	maxPage   = 1 << 16
)

// Flags of pages and nodes.
const (
	branchPage   = 0x01
	leafPage     = 0x02
	overflowPage = 0x04
	leaf2Page    = 0x20 // a leaf whose nodes are keys of one length
	subPage      = 0x40 // inside of a page

	bigData = 0x01
	subData = 0x02
	dupData = 0x04
)

const (
	magic     = 0xBEEFC0DE
	none      = ^uint64(0) // the root of an empty tree
	mostDepth = 32         // of LMDB's own stack
)

var order = binary.NativeEndian

// Skip names databases that are not looked into.
type Skip []string

// Check checks every page that the commit of a transaction names, in a file of
// size bytes. Whoever calls has a transaction open, so that none of these pages
// is used again meanwhile.
func Check(file io.ReaderAt, size int64, txn uint64, skip Skip) error {
	c := &checker{file: file, skip: skip}
	return c.run(uint64(size), txn)
}

func (c *checker) run(size, txn uint64) error {
	free, main, err := c.meta(txn, size)
	if err != nil {
		return err
	}
	if err := c.tree(free, c.freePages); err != nil {
		return err
	}
	if err := c.tree(main, c.named); err != nil {
		return err
	}
	return c.checkFree()
}

// checker is one check.
type checker struct {
	file     io.ReaderAt
	skip     Skip
	pageSize int
	pages    uint64 // whole ones in the file
	last     uint64 // that the commit counts
	seen     []uint64
	free     []uint64
}

// tree is what the description of a tree says that a check needs.
type tree struct {
	root uint64
	free bool // the tree of free pages
}

func decodeTree(b []byte) tree { return tree{root: order.Uint64(b[40:])} }

// meta finds the commit and checks what it says of itself.
func (c *checker) meta(txn, size uint64) (free, main tree, err error) {
	var b [headerLen + metaLen]byte
	pageSize := uint64(0)
	for n := range uint64(2) {
		if _, err := c.file.ReadAt(b[:], int64(n*pageSize)); err != nil {
			return free, main, &Error{n, "a meta page that cannot be read: " + err.Error()}
		}
		m := b[headerLen:]
		if order.Uint32(m) != magic {
			return free, main, &Error{n, "no meta page"}
		}
		pageSize = uint64(order.Uint32(m[24:]))
		if pageSize < minPage || pageSize > maxPage || bits.OnesCount64(pageSize) != 1 {
			return free, main, &Error{n, fmt.Sprintf("pages of %d bytes", pageSize)}
		}
		if order.Uint64(m[128:]) != txn {
			continue
		}
		c.pageSize, c.pages, c.last = int(pageSize), size/pageSize, order.Uint64(m[120:])
		c.seen = make([]uint64, c.pages/64+1)
		free, main = decodeTree(m[24:]), decodeTree(m[72:])
		free.free = true
		return free, main, nil
	}
	return free, main, ErrNoCommit
}

// visitor is told each node of the leaves of a tree.
type visitor func(page uint64, key, data []byte, flags uint16) error

func (c *checker) tree(t tree, visit visitor) error {
	if t.root == none {
		return nil
	}
	_, err := c.branch(t.root, t.free, 0, visit)
	return err
}

// branch checks a page of a tree and what is below it, and returns its height.
func (c *checker) branch(number uint64, free bool, depth int, visit visitor) (height int, err error) {
	if depth == mostDepth {
		return 0, &Error{number, fmt.Sprintf("it lies deeper than %d pages", mostDepth)}
	}
	page, err := c.page(number, 1)
	if err != nil {
		return 0, err
	}
	flags := order.Uint16(page[10:])
	if flags&^(branchPage|leafPage|leaf2Page) != 0 || flags&branchPage != 0 == (flags&leafPage != 0) {
		return 0, &Error{number, fmt.Sprintf("flags %#x, of no page of a tree", flags)}
	}
	if flags&leafPage != 0 {
		return 1, c.leaf(number, page, flags, visit)
	}
	least := 2
	if free {
		least = 1
	}
	children := 0
	err = c.nodes(number, page, func(node []byte) error {
		child := uint64(order.Uint16(node)) | uint64(order.Uint16(node[2:]))<<16 | uint64(order.Uint16(node[4:]))<<32
		h, err := c.branch(child, free, depth+1, visit)
		if children++; err == nil && children > 1 && h != height {
			err = &Error{number, fmt.Sprintf("leaves %d and %d pages below it", height, h)}
		}
		height = h
		return err
	})
	if err == nil && children < least {
		err = &Error{number, fmt.Sprintf("%d pages below a branch", children)}
	}
	return height + 1, err
}

// page reads the first of count pages, which belong to nothing else.
func (c *checker) page(number, count uint64) ([]byte, error) {
	if number < 2 || number > c.last || count > c.last-number+1 {
		return nil, &Error{number, fmt.Sprintf("a page of %d that is not from 2 to %d", count, c.last)}
	}
	if number >= c.pages || count > c.pages-number {
		return nil, &Error{number, fmt.Sprintf("it lies behind the end of the file, which has %d pages", c.pages)}
	}
	for n := number; n < number+count; n++ {
		if c.seen[n/64]>>(n%64)&1 != 0 {
			return nil, &Error{n, "it belongs to two places"}
		}
		c.seen[n/64] |= 1 << (n % 64)
	}
	page := make([]byte, c.pageSize)
	if n, err := c.file.ReadAt(page, int64(number)*int64(c.pageSize)); n < len(page) {
		return nil, &Error{number, "it cannot be read: " + err.Error()}
	}
	if got := order.Uint64(page); got != number {
		return nil, &Error{number, fmt.Sprintf("it says that it is page %d", got)}
	}
	return page, nil
}

// nodes gives each the bytes from a node on, as far as its key reaches.
func (c *checker) nodes(number uint64, page []byte, each func(node []byte) error) error {
	count, err := count(number, page)
	if err != nil {
		return err
	}
	for i := range count {
		at := int(order.Uint16(page[headerLen+2*i:]))
		if at%2 != 0 || at < headerLen+2*count || at+nodeLen > len(page) || at+nodeLen+int(order.Uint16(page[at+6:])) > len(page) {
			return &Error{number, fmt.Sprintf("node %d leads out of the page", i)}
		}
		if err := each(page[at:]); err != nil {
			return err
		}
	}
	return nil
}

// count is the number of nodes or keys in a page of a tree, which has some.
func count(number uint64, page []byte) (int, error) {
	lower, upper := int(order.Uint16(page[12:])), int(order.Uint16(page[14:]))
	if lower <= headerLen || lower%2 != 0 || lower > upper || upper > len(page) {
		return 0, &Error{number, fmt.Sprintf("free space from %d to %d", lower, upper)}
	}
	return (lower - headerLen) / 2, nil
}

// leaf checks the nodes of a leaf and what they lead to.
func (c *checker) leaf(number uint64, page []byte, flags uint16, visit visitor) error {
	if flags&leaf2Page != 0 {
		return keys(number, page)
	}
	return c.nodes(number, page, func(node []byte) error {
		flags, key := order.Uint16(node[4:]), node[nodeLen:][:order.Uint16(node[6:])]
		data := node[nodeLen+len(key):]
		size := uint64(order.Uint16(node)) | uint64(order.Uint16(node[2:]))<<16
		inline := size
		if flags&bigData != 0 {
			inline = 8
		}
		if flags&^(bigData|subData|dupData) != 0 || flags&bigData != 0 && flags != bigData || inline > uint64(len(data)) {
			return &Error{number, fmt.Sprintf("a node of %d bytes with flags %#x", size, flags)}
		}
		data = data[:inline]
		if flags&bigData != 0 {
			var err error
			if data, err = c.overflow(order.Uint64(data), size); err != nil {
				return err
			}
		}
		return visit(number, key, data, flags)
	})
}

// keys checks a page of keys of one length.
func keys(number uint64, page []byte) error {
	n, err := count(number, page)
	if err != nil {
		return err
	}
	if size := int(order.Uint16(page[8:])); size == 0 || headerLen+n*size > len(page) {
		return &Error{number, fmt.Sprintf("%d keys of %d bytes", n, size)}
	}
	return nil
}

// overflow reads data that has pages of its own. Only free lists are that long
// in what is checked here.
func (c *checker) overflow(number, size uint64) ([]byte, error) {
	count := (headerLen-1+size)/uint64(c.pageSize) + 1
	page, err := c.page(number, count)
	if err != nil {
		return nil, err
	}
	if flags, has := order.Uint16(page[10:]), uint64(order.Uint32(page[12:])); flags != overflowPage || has < count {
		return nil, &Error{number, fmt.Sprintf("flags %#x and %d pages, for %d bytes of overflow", flags, has, size)}
	}
	data := make([]byte, size)
	if n, err := c.file.ReadAt(data, int64(number)*int64(c.pageSize)+headerLen); n < len(data) {
		return nil, &Error{number, "it cannot be read: " + err.Error()}
	}
	return data, nil
}

// named looks into the databases, each the data of a node.
func (c *checker) named(page uint64, key, data []byte, flags uint16) error {
	if flags&subData == 0 {
		return nil
	}
	if len(data) != treeLen {
		return &Error{page, fmt.Sprintf("a tree of %d bytes", len(data))}
	}
	if flags&dupData == 0 && slices.Contains(c.skip, string(key)) {
		return nil
	}
	return c.tree(decodeTree(data), c.duplicates)
}

// duplicates looks into the duplicates of a key: a tree, or a page that is the
// data of the node.
func (c *checker) duplicates(page uint64, key, data []byte, flags uint16) error {
	switch flags & (subData | dupData) {
	case 0:
		return nil
	case subData | dupData:
		return c.named(page, key, data, flags)
	case subData:
		return &Error{page, "a database in a database"}
	}
	if len(data) < headerLen {
		return &Error{page, fmt.Sprintf("duplicates of %d bytes", len(data))}
	}
	inner := order.Uint16(data[10:])
	switch {
	case inner&subPage == 0 || inner&leafPage == 0:
		return &Error{page, fmt.Sprintf("duplicates with flags %#x", inner)}
	case inner&leaf2Page != 0:
		return keys(page, data)
	}
	return c.nodes(page, data, func([]byte) error { return nil })
}

// freePages gathers the page numbers that the tree of free pages lists.
func (c *checker) freePages(page uint64, key, data []byte, _ uint16) error {
	if len(key) != 8 || len(data) < 8 || order.Uint64(data) > uint64(len(data)-8)/8 {
		return &Error{page, "a list of free pages that is none"}
	}
	for i := range order.Uint64(data) {
		c.free = append(c.free, order.Uint64(data[8+8*i:]))
	}
	return nil
}

// checkFree checks that no free page is one of a tree, or is listed twice: it
// would be used for two things.
func (c *checker) checkFree() error {
	slices.Sort(c.free)
	for i, n := range c.free {
		switch {
		case n < 2 || n > c.last:
			return &Error{n, fmt.Sprintf("a free page that is not from 2 to %d", c.last)}
		case i > 0 && n == c.free[i-1]:
			return &Error{n, "it is free twice"}
		case n < c.pages && c.seen[n/64]>>(n%64)&1 != 0:
			return &Error{n, "it is free and belongs to a tree"}
		}
	}
	return nil
}
