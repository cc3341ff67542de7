package index

import (
	"errors"
	"fmt"
)

// Account checks what the cache believes about itself: every entry is in the
// place of its class, memory adds up to the lists there are, and lists keep to
// their bounds.
func (c *Cache) Account() error {
	var errs []error
	var bytes int64
	placed := 0
	for cl := range c.byHeat {
		for el := c.byHeat[cl].Front(); el != nil; el = el.Next() {
			e := el.Value.(*entry)
			placed++
			bytes += e.bytes
			if e.class != class(cl) || e.place != el || c.entries[e.key] != e {
				errs = append(errs, fmt.Errorf("%v is misplaced", e.key))
			}
			if (e.list != nil) != (class(cl) != counted) {
				errs = append(errs, fmt.Errorf("%v has class %d with the list %v", e.key, cl, e.list))
			}
			if e.list != nil && e.bytes != e.list.Bytes() {
				errs = append(errs, fmt.Errorf("%v is accounted with %d bytes, has %d", e.key, e.bytes, e.list.Bytes()))
			}
		}
	}
	for k, t := range c.tables {
		var size int64
		for _, s := range t.segments {
			size += int64(cap(s)) * 8
		}
		if size != t.bytes {
			errs = append(errs, fmt.Errorf("table %v is accounted with %d bytes, has %d", k, t.bytes, size))
		}
		bytes += t.bytes
	}
	if placed != len(c.entries) || bytes != c.bytes {
		errs = append(errs, fmt.Errorf("%d entries of %d are placed, %d bytes of %d accounted", placed, len(c.entries), bytes, c.bytes))
	}
	if n := c.byHeat[cold].Len(); n > c.opts.ColdLists {
		errs = append(errs, fmt.Errorf("%d cold lists", n))
	}
	if c.bytes > c.budget() {
		errs = append(errs, fmt.Errorf("%d bytes of %d", c.bytes, c.budget()))
	}
	return errors.Join(errs...)
}
