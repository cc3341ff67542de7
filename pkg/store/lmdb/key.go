package lmdb

import (
	"encoding/binary"
	"fmt"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
)

// MaxKeyLen is the length of the longest key that LMDB takes, in bytes.
const MaxKeyLen = 511

// idLen is the length of an id in any of the databases, in bytes.
const idLen = 8

// AppendKey appends the key of a posting list to dst:
//
//	offset  size  field
//	0       1     shape: 1 field presence, 2 field exact, 4 link target, 5 link
//	              name and data
//	1       2     bytes of the first component, u16 big-endian
//	3       n     the component: a name, or a link's target
//	...           the second component of shapes 2 and 5, likewise: a value or
//	              the data
//
// It returns false, and dst as it was, for a key that has no posting list: of
// another shape, or longer than MaxKeyLen.
func AppendKey(dst []byte, k index.Key) ([]byte, bool) {
	first, second, pair, ok := components(k)
	size := 1 + 2 + len(first)
	if pair {
		size += 2 + len(second)
	}
	if !ok || size > MaxKeyLen {
		return dst, false
	}
	dst = appendText(append(dst, byte(k.Shape)), first)
	if pair {
		dst = appendText(dst, second)
	}
	return dst, true
}

// components returns what of a key its shape says, and whether it has a list.
func components(k index.Key) (first, second string, pair, ok bool) {
	switch k.Shape {
	case store.FieldPresence:
		return k.Name, "", false, true
	case store.FieldExact, store.LinkNameData:
		return k.Name, k.Value, true, true
	case store.LinkTarget:
		return k.Value, "", false, true
	}
	return "", "", false, false
}

func appendText(dst []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(text))), text...)
}

// DecodeKey reads a whole key. Only what AppendKey makes is one.
func DecodeKey(src []byte) (index.Key, error) {
	if len(src) == 0 || len(src) > MaxKeyLen {
		return index.Key{}, fmt.Errorf("posting key has %d bytes, want 1 to %d", len(src), MaxKeyLen)
	}
	k := index.Key{Shape: store.Shape(src[0])}
	_, _, pair, ok := components(k)
	if !ok {
		return index.Key{}, fmt.Errorf("posting key has the shape %d, which has no list", src[0])
	}
	first, rest, err := cutText(src[1:])
	if err != nil {
		return index.Key{}, err
	}
	second := ""
	if pair {
		if second, rest, err = cutText(rest); err != nil {
			return index.Key{}, err
		}
	}
	if len(rest) > 0 {
		return index.Key{}, fmt.Errorf("posting key has %d bytes behind its end", len(rest))
	}
	if k.Shape == store.LinkTarget {
		k.Value = first
	} else {
		k.Name, k.Value = first, second
	}
	return k, nil
}

func cutText(src []byte) (text string, rest []byte, err error) {
	if len(src) < 2 {
		return "", nil, fmt.Errorf("posting key ends inside a length")
	}
	n := int(binary.BigEndian.Uint16(src))
	if len(src)-2 < n {
		return "", nil, fmt.Errorf("posting key has a component of %d bytes, and %d bytes left", n, len(src)-2)
	}
	return string(src[2 : 2+n]), src[2+n:], nil
}

func encodeID(id store.RecordID) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, idLen), uint64(id))
}

// decodeID reads an id, which is never zero.
func decodeID(src []byte) (store.RecordID, error) {
	if len(src) != idLen {
		return 0, fmt.Errorf("id has %d bytes, want %d", len(src), idLen)
	}
	id := store.RecordID(binary.BigEndian.Uint64(src))
	if id == 0 {
		return 0, fmt.Errorf("id is zero")
	}
	return id, nil
}
