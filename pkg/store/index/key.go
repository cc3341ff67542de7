package index

import (
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/store"
)

// Key names one primitive access shape: what a posting list is about. Its
// Shape is any but store.LinkName, which has no list of its own. It is
// comparable.
type Key struct {
	Shape store.Shape
	Name  string // empty for LinkTarget
	Value string // empty for FieldPresence
}

// KeyOf returns the key whose list holds every record that satisfies c. A
// link is a field occurrence of its name, so LinkName narrows by presence.
func KeyOf(c store.Constraint) Key {
	switch c.Shape {
	case store.FieldPresence, store.LinkName:
		return Key{Shape: store.FieldPresence, Name: c.Name}
	case store.LinkTarget:
		return Key{Shape: store.LinkTarget, Value: c.Value}
	}
	return Key{Shape: c.Shape, Name: c.Name, Value: c.Value}
}

// Presence returns the presence key of the field that k is about, a superset
// of k. A link target is about no field.
func (k Key) Presence() (Key, bool) {
	if k.Shape == store.LinkTarget {
		return Key{}, false
	}
	return Key{Shape: store.FieldPresence, Name: k.Name}, true
}

// String returns the key as diagnostics print it.
func (k Key) String() string {
	switch k.Shape {
	case store.FieldPresence:
		return fmt.Sprintf("field-presence(%q)", k.Name)
	case store.FieldExact:
		return fmt.Sprintf("field-exact(%q,%q)", k.Name, k.Value)
	case store.FieldPrefix:
		return fmt.Sprintf("field-prefix(%q,%q)", k.Name, k.Value)
	case store.LinkTarget:
		return fmt.Sprintf("record-link-target(%q)", k.Value)
	case store.LinkNameData:
		return fmt.Sprintf("record-link-name-data(%q,%q)", k.Name, k.Value)
	}
	return fmt.Sprintf("key-shape-%d(%q,%q)", k.Shape, k.Name, k.Value)
}

// KeysOf returns the posting keys of a query without repeats, in the order of
// its constraints. A presence that another key on the same field implies is
// left out: its list could narrow nothing further.
func KeysOf(q store.Query) []Key {
	keys := make([]Key, 0, len(q.Constraints))
	for _, c := range q.Constraints {
		if k := KeyOf(c); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return slices.DeleteFunc(keys, func(k Key) bool {
		return k.Shape == store.FieldPresence && slices.ContainsFunc(keys, func(other Key) bool {
			p, ok := other.Presence()
			return ok && p == k && other != k
		})
	})
}

// validateQuery rejects constraints that no caller may ask.
func validateQuery(q store.Query) error {
	for i, c := range q.Constraints {
		switch {
		case c.Shape < store.FieldPresence || c.Shape > store.LinkName:
			return malformed("find records", fmt.Sprintf("constraint %d has the unknown shape %d", i, c.Shape))
		case c.Shape == store.LinkTarget && c.Name != "":
			return malformed("find records", fmt.Sprintf("constraint %d is a link target with the name %q", i, c.Name))
		case (c.Shape == store.FieldPresence || c.Shape == store.LinkName) && c.Value != "":
			return malformed("find records", fmt.Sprintf("constraint %d asks for a presence with the value %q", i, c.Value))
		}
	}
	return nil
}

func malformed(doing, found string) error {
	return &store.Error{Kind: store.Integration, Doing: doing, Found: found}
}
