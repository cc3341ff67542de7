package index_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
)

// The injective key-path vectors of seed 002: empty, dots, case-distinct,
// UTF-8, and what hosts give a meaning to.
func TestPathVectors(t *testing.T) {
	hash := "B.0000000000000000000000000000000000000000000.H3"
	for _, c := range []struct {
		key  index.Key
		path string
	}{
		{index.Key{Shape: store.FieldPresence, Name: ""}, "field-presence/x.ids"},
		{index.Key{Shape: store.FieldPresence, Name: "A"}, "field-presence/x41.ids"},
		{index.Key{Shape: store.FieldPresence, Name: "a"}, "field-presence/x61.ids"},
		{index.Key{Shape: store.FieldPresence, Name: ".."}, "field-presence/x2e2e.ids"},
		{index.Key{Shape: store.FieldPresence, Name: "a/b"}, "field-presence/x612f62.ids"},
		{index.Key{Shape: store.FieldPresence, Name: "\ufeffa"}, "field-presence/xefbbbf61.ids"},
		{index.Key{Shape: store.FieldExact, Name: ":Type", Value: "B"}, "field-exact/x3a54797065/x42.ids"},
		{index.Key{Shape: store.FieldExact, Name: "", Value: ""}, "field-exact/x/x.ids"},
		{index.Key{Shape: store.FieldExact, Name: "By", Value: "é"}, "field-exact/x4279/xc3a9.ids"},
		{index.Key{Shape: store.FieldPrefix, Name: "CON", Value: "nul. "}, "field-prefix/x434f4e/x6e756c2e20.ids"},
		{index.Key{Shape: store.LinkTarget, Value: hash}, "record-link-target/x422e" + strings.Repeat("30", 43) + "2e4833.ids"},
		{index.Key{Shape: store.LinkNameData, Name: "Ref", Value: ""}, "record-link-name-data/x526566/x.ids"},
		{index.Key{Shape: store.LinkNameData, Name: "Ref", Value: "\x00"}, "record-link-name-data/x526566/x00.ids"},
		{index.Key{Shape: store.LinkNameData, Name: "Ref", Value: "🖧"}, "record-link-name-data/x526566/xf09f96a7.ids"},
	} {
		if path, ok := c.key.Path(); path != c.path || !ok {
			t.Errorf("%v has the path %q (%t), want %q", c.key, path, ok, c.path)
		}
		if key, err := index.ParsePath(c.path); key != c.key || err != nil {
			t.Errorf("%q is %v (%v), want %v", c.path, key, err, c.key)
		}
	}
}

func TestParsePathRejects(t *testing.T) {
	for name, path := range map[string]string{
		"empty":                   "",
		"no suffix":               "field-presence/x41",
		"temporary":               "field-presence/x41.ids.lace-tmp",
		"unknown shape":           "field-absence/x41.ids",
		"shape in capitals":       "Field-presence/x41.ids",
		"no marker":               "field-presence/41.ids",
		"capital marker":          "field-presence/X41.ids",
		"uppercase digits":        "field-presence/x4A.ids",
		"odd digits":              "field-presence/x4.ids",
		"no digit":                "field-presence/x4g.ids",
		"invalid UTF-8":           "field-presence/xff.ids",
		"surrogate":               "field-presence/xeda080.ids",
		"overlong":                "field-presence/xc080.ids",
		"too few components":      "field-exact/x41.ids",
		"too many components":     "field-presence/x41/x42.ids",
		"directory alone":         "field-presence.ids",
		"empty component":         "field-exact//x41.ids",
		"leading slash":           "/field-presence/x41.ids",
		"backslash":               `field-presence\x41.ids`,
		"dot component":           "field-exact/./x41.ids",
		"too long a leaf":         "field-presence/x" + strings.Repeat("61", 121) + ".ids",
		"too long a directory":    "field-exact/x" + strings.Repeat("61", 128) + "/x.ids",
		"suffix twice":            "field-presence/x41.ids.ids",
		"space behind the marker": "field-presence/x 41.ids",
	} {
		if key, err := index.ParsePath(path); err == nil {
			t.Errorf("%s: %q is taken for %v", name, path, key)
		}
	}
}

// The limits count the temporary suffix: 1 + 2n + 13 <= 255 for a leaf, and
// 1 + 2n <= 255 for a directory.
func TestPathLimits(t *testing.T) {
	text := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct {
		name string
		key  index.Key
		ok   bool
	}{
		{"longest leaf", index.Key{Shape: store.FieldPresence, Name: text(120)}, true},
		{"leaf too long", index.Key{Shape: store.FieldPresence, Name: text(121)}, false},
		{"longest directory", index.Key{Shape: store.FieldExact, Name: text(127), Value: text(120)}, true},
		{"directory too long", index.Key{Shape: store.FieldExact, Name: text(128)}, false},
		{"value too long", index.Key{Shape: store.LinkNameData, Name: "a", Value: text(121)}, false},
		{"target too long", index.Key{Shape: store.LinkTarget, Value: text(121)}, false},
		{"longest in characters of four bytes", index.Key{Shape: store.FieldPresence, Name: strings.Repeat("🖧", 30)}, true},
		{"too long in characters of four bytes", index.Key{Shape: store.FieldPresence, Name: strings.Repeat("🖧", 31)}, false},
		{"not UTF-8", index.Key{Shape: store.FieldPresence, Name: "\xff"}, false},
		{"no shape of its own", index.Key{Shape: store.LinkName, Name: "Ref"}, false},
	} {
		path, ok := c.key.Path()
		if ok != c.ok {
			t.Errorf("%s: path %q is %t, want %t", c.name, path, ok, c.ok)
			continue
		}
		if !ok {
			continue
		}
		if key, err := index.ParsePath(path); key != c.key || err != nil {
			t.Errorf("%s: read back as %v (%v)", c.name, key, err)
		}
		temp := strings.TrimSuffix(path, index.ListSuffix) + index.TempSuffix
		if len(temp) > index.MaxPath {
			t.Errorf("%s: path of %d bytes", c.name, len(temp))
		}
		for _, part := range strings.Split(temp, "/") {
			if len(part) > index.MaxComponent {
				t.Errorf("%s: component of %d bytes", c.name, len(part))
			}
		}
	}
}

func drawKey(t *rapid.T) index.Key {
	k := index.Key{Shape: rapid.SampledFrom([]store.Shape{
		store.FieldPresence, store.FieldExact, store.FieldPrefix, store.LinkTarget, store.LinkNameData,
	}).Draw(t, "shape")}
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[aA.:x]{0,3}`))
	if k.Shape != store.LinkTarget {
		k.Name = text.Draw(t, "name")
	}
	if k.Shape != store.FieldPresence {
		k.Value = text.Draw(t, "value")
	}
	return k
}

func TestPathIsInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawKey(t), drawKey(t)
		pathA, okA := a.Path()
		pathB, okB := b.Path()
		if okA && okB && (a == b) != strings.EqualFold(pathA, pathB) {
			t.Fatalf("%v and %v have the paths %q and %q", a, b, pathA, pathB)
		}
		if okA {
			if again, err := index.ParsePath(pathA); again != a || err != nil {
				t.Fatalf("%q is %v (%v), want %v", pathA, again, err, a)
			}
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{
		"field-presence/x.ids", "field-exact/x3a54797065/x42.ids", "field-prefix/x41/xefbbbf61.ids",
		"record-link-target/x42.ids", "record-link-name-data/x526566/x.ids",
		"field-presence/xff.ids", "field-presence/x4A.ids", "field-exact//x.ids", "../x.ids",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		k, err := index.ParsePath(path)
		if err != nil {
			return
		}
		if again, ok := k.Path(); again != path || !ok {
			t.Fatalf("%q is %v, whose path is %q (%t)", path, k, again, ok)
		}
		if !utf8.ValidString(k.Name) || !utf8.ValidString(k.Value) {
			t.Fatalf("%q is %q and %q, which is not UTF-8", path, k.Name, k.Value)
		}
	})
}
