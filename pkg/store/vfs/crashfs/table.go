package crashfs

import "maps"

// table is a map that copies itself before the first change after it was
// shared, so that a clone of a file system costs little.
type table[K comparable, V any] struct {
	m      map[K]V
	shared bool
}

func (t *table[K, V]) own() {
	if t.shared || t.m == nil {
		fresh := make(map[K]V, len(t.m)+1)
		maps.Copy(fresh, t.m)
		t.m, t.shared = fresh, false
	}
}

func (t *table[K, V]) set(k K, v V) {
	t.own()
	t.m[k] = v
}

func (t *table[K, V]) remove(k K) {
	if _, ok := t.m[k]; ok {
		t.own()
		delete(t.m, k)
	}
}

// share returns a second table of the same contents.
func (t *table[K, V]) share() table[K, V] {
	t.shared = true
	return *t
}
