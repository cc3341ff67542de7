package index

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lace-store/lace/pkg/store"
)

// Limits of list paths (seed 002), in bytes. Both count the temporary suffix
// of the last component, so that what fits can be replaced too.
const (
	MaxComponent = 255
	MaxPath      = 1024
)

// Suffixes of the last component.
const (
	ListSuffix = ".ids"
	TempSuffix = ".ids.lace-tmp"
)

// pathShape is how the keys of one shape become paths.
type pathShape struct {
	shape  store.Shape
	dir    string
	byName bool // the first component is the name
	value  bool // the last component is the value
}

// pathShapes lists the five shapes in the order of the seed.
func pathShapes() [5]pathShape {
	return [5]pathShape{
		{store.FieldPresence, "field-presence", true, false},
		{store.FieldExact, "field-exact", true, true},
		{store.FieldPrefix, "field-prefix", true, true},
		{store.LinkTarget, "record-link-target", false, true},
		{store.LinkNameData, "record-link-name-data", true, true},
	}
}

// Path returns the slash-separated path of a key's list below indexes-v2. It
// is false for a key that has none: too long a component or path, or text
// that is not UTF-8. Such a key is valid in a query and never materialized.
func (k Key) Path() (string, bool) {
	for _, s := range pathShapes() {
		if s.shape == k.Shape {
			return s.path(k)
		}
	}
	return "", false
}

func (s pathShape) path(k Key) (string, bool) {
	parts := []string{s.dir}
	for _, part := range s.texts(k) {
		if !utf8.ValidString(part) {
			return "", false
		}
		parts = append(parts, encodeComponent(part))
	}
	for i, part := range parts {
		if i == len(parts)-1 {
			part += TempSuffix
		}
		if len(part) > MaxComponent {
			return "", false
		}
	}
	path := strings.Join(parts, "/")
	return path + ListSuffix, len(path)+len(TempSuffix) <= MaxPath
}

// texts returns the key strings that become components.
func (s pathShape) texts(k Key) []string {
	switch {
	case s.byName && s.value:
		return []string{k.Name, k.Value}
	case s.byName:
		return []string{k.Name}
	}
	return []string{k.Value}
}

// ParsePath returns the key that has exactly this path. Any other spelling is
// an error: unknown directories, uppercase hexadecimal, text that is not
// UTF-8, components or paths over their limits.
func ParsePath(path string) (Key, error) {
	bare, ok := strings.CutSuffix(path, ListSuffix)
	if !ok {
		return Key{}, fmt.Errorf("list path %.100q does not end in %s", path, ListSuffix)
	}
	parts := strings.Split(bare, "/")
	for _, s := range pathShapes() {
		if s.dir == parts[0] {
			return s.parse(path, parts[1:])
		}
	}
	return Key{}, fmt.Errorf("list path %.100q starts with no key shape", path)
}

func (s pathShape) parse(path string, parts []string) (Key, error) {
	k := Key{Shape: s.shape}
	texts := make([]string, 0, len(parts))
	for _, part := range parts {
		text, err := decodeComponent(part)
		if err != nil {
			return Key{}, fmt.Errorf("list path %.100q: %w", path, err)
		}
		texts = append(texts, text)
	}
	switch {
	case len(texts) != len(s.texts(k)):
		return Key{}, fmt.Errorf("list path %.100q has %d key components, want %d", path, len(texts), len(s.texts(k)))
	case s.byName && s.value:
		k.Name, k.Value = texts[0], texts[1]
	case s.byName:
		k.Name = texts[0]
	default:
		k.Value = texts[0]
	}
	// The pair of this check: what is written is read back from there only.
	if again, ok := k.Path(); !ok || again != path {
		return Key{}, fmt.Errorf("list path %.100q is over the limit of %d bytes a component", path, MaxComponent)
	}
	return k, nil
}

func encodeComponent(text string) string { return "x" + hex.EncodeToString([]byte(text)) }

func decodeComponent(part string) (string, error) {
	digits, ok := strings.CutPrefix(part, "x")
	if !ok || strings.ContainsAny(digits, "ABCDEF") {
		return "", fmt.Errorf("component %.100q is not x and lowercase hexadecimal", part)
	}
	text, err := hex.DecodeString(digits)
	if err != nil {
		return "", fmt.Errorf("component %.100q: %w", part, err)
	}
	if !utf8.Valid(text) {
		return "", fmt.Errorf("component %.100q is not UTF-8", part)
	}
	return string(text), nil
}
