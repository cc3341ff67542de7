package policy

import (
	"encoding/binary"
	"sort"

	"github.com/zeebo/blake3"
)

// digest is over
//
//	count of modules, each canonical text behind its length,
//	count of parameters, each name and value behind its length, by name
//
// with counts and lengths as little-endian u64. Layout and comments of the
// files do not count; the order of the modules does.
func digest(modules []Module, params map[string]string) [32]byte {
	h := blake3.New()
	number := func(n int) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	text := func(s string) {
		number(len(s))
		h.WriteString(s)
	}
	number(len(modules))
	for _, m := range modules {
		text(m.Canonical)
	}
	names := make([]string, 0, len(params))
	for name := range params {
		names = append(names, name)
	}
	sort.Strings(names)
	number(len(names))
	for _, name := range names {
		text(name)
		text(params[name])
	}
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}
