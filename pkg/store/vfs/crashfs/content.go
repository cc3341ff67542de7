package crashfs

// sectorBytes is the smallest piece that a disk writes whole.
const sectorBytes = 512

// sector is the contents of one sector. It is never changed once it is in a
// content, because clones and unsynced changes share it.
type sector = [sectorBytes]byte

// content is the bytes of a file. A sector that is not there is a hole.
type content struct {
	size    int64
	sectors table[int64, *sector]
}

func (c *content) share() content { return content{size: c.size, sectors: c.sectors.share()} }

// put sets one sector; nil makes a hole.
func (c *content) put(index int64, s *sector) {
	if s == nil {
		c.sectors.remove(index)
	} else {
		c.sectors.set(index, s)
	}
}

// read fills p from off on, which lies inside the file.
func (c *content) read(p []byte, off int64) {
	for len(p) > 0 {
		index, from := off/sectorBytes, int(off%sectorBytes)
		n := min(len(p), sectorBytes-from)
		if s := c.sectors.m[index]; s != nil {
			copy(p[:n], s[from:])
		} else {
			clear(p[:n])
		}
		p, off = p[n:], off+int64(n)
	}
}

// version is what one sector held after one change.
type version struct {
	index int64
	data  *sector // nil is a hole
}

// written returns the sectors that hold p at off, merged with what is there.
func (c *content) written(p []byte, off int64) []version {
	if len(p) == 0 {
		return nil
	}
	first, last := off/sectorBytes, (off+int64(len(p))-1)/sectorBytes
	versions := make([]version, 0, last-first+1)
	backing := make([]sector, last-first+1)
	for index := first; index <= last; index++ {
		s := &backing[index-first]
		from := max(off-index*sectorBytes, 0)
		if old := c.sectors.m[index]; old != nil {
			*s = *old
		}
		n := copy(s[from:], p)
		p = p[n:]
		versions = append(versions, version{index, s})
	}
	return versions
}

// zeroed returns the sectors that change when [lo, hi) is freed: whole ones
// become holes, the edges are zeroed.
func (c *content) zeroed(lo, hi int64) []version {
	var versions []version
	for index, s := range c.sectors.m {
		from, to := max(lo-index*sectorBytes, 0), min(hi-index*sectorBytes, sectorBytes)
		if from >= sectorBytes || to <= 0 || from >= to {
			continue
		}
		if from == 0 && to == sectorBytes {
			versions = append(versions, version{index, nil})
			continue
		}
		edge := *s
		clear(edge[from:to])
		versions = append(versions, version{index, &edge})
	}
	return versions
}

// cut sets the size and frees what lies behind it.
func (c *content) cut(size int64) {
	for _, v := range c.zeroed(size, 1<<62) {
		c.put(v.index, v.data)
	}
	c.size = size
}
