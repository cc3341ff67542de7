package lmdb

import (
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
)

func TestKeyVectors(t *testing.T) {
	for _, c := range []struct {
		key  index.Key
		want string
	}{
		{index.Key{Shape: store.FieldPresence, Name: "Topic"}, "\x01\x00\x05Topic"},
		{index.Key{Shape: store.FieldExact, Name: "Topic", Value: "a"}, "\x02\x00\x05Topic\x00\x01a"},
		{index.Key{Shape: store.FieldExact}, "\x02\x00\x00\x00\x00"},
		{index.Key{Shape: store.LinkTarget, Value: "B.x"}, "\x04\x00\x03B.x"},
		{index.Key{Shape: store.LinkNameData, Name: "By", Value: "é"}, "\x05\x00\x02By\x00\x02é"},
	} {
		got, ok := AppendKey(nil, c.key)
		if !ok || string(got) != c.want {
			t.Errorf("%v is %q, %v, want %q", c.key, got, ok, c.want)
		}
		back, err := DecodeKey(got)
		if err != nil || back != c.key {
			t.Errorf("%q is %v, %v, want %v", got, back, err, c.key)
		}
	}
}

// Components are told apart by their lengths, so that no two keys share a list.
func TestKeyIsInjective(t *testing.T) {
	a, _ := AppendKey(nil, index.Key{Shape: store.FieldExact, Name: "ab", Value: "c"})
	b, _ := AppendKey(nil, index.Key{Shape: store.FieldExact, Name: "a", Value: "bc"})
	if string(a) == string(b) {
		t.Errorf("both are %q", a)
	}
}

func TestKeyLimit(t *testing.T) {
	fits := index.Key{Shape: store.FieldPresence, Name: strings.Repeat("n", MaxKeyLen-3)}
	if got, ok := AppendKey([]byte("x"), fits); !ok || len(got) != 1+MaxKeyLen {
		t.Errorf("the longest name gives %d bytes, %v", len(got), ok)
	}
	fits.Name += "n"
	if got, ok := AppendKey([]byte("x"), fits); ok || string(got) != "x" {
		t.Errorf("a longer name gives %d bytes, %v", len(got), ok)
	}
	for _, shape := range []store.Shape{0, store.FieldPrefix, store.LinkName} {
		if _, ok := AppendKey(nil, index.Key{Shape: shape, Name: "n"}); ok {
			t.Errorf("shape %d has a list", shape)
		}
	}
}

// FuzzDecodeKey: no panic, and what decodes is what encodes.
func FuzzDecodeKey(f *testing.F) {
	for _, seed := range []string{"", "\x01", "\x01\x00\x05Topic", "\x02\x00\x05Topic\x00\x01a", "\x02\x00\x05Topic", "\x04\x00\x03B.x!", "\x03\x00\x01a\x00\x01b", "\x05\xff\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		k, err := DecodeKey(src)
		if err != nil {
			return
		}
		if back, ok := AppendKey(nil, k); !ok || string(back) != string(src) {
			t.Errorf("%q decodes to %v, which encodes to %q, %v", src, k, back, ok)
		}
	})
}
