package record

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"
)

// coordinates are valid ones for tests that ask about something else.
var coordinates = Coordinates{Group: "g", App: "a", Name: "n", TAI: "1700000000:000000000"}

func blob(t testing.TB, data string) View {
	t.Helper()
	v, err := BuildBlob(nil, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func plex(t testing.TB, data string, extra ...Header) View {
	t.Helper()
	v, err := BuildPlex(nil, coordinates, extra, blob(t, data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func seal(t testing.TB, inner View) View {
	t.Helper()
	v, err := BuildSeal(nil, inner, VerifierKey{1}, Mark{2})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// raw gives any payload the glyph line that names its digest.
func raw(kind Kind, payload string) []byte {
	return append(AppendGlyphLine(nil, MakeHash(kind, blake3.Sum256([]byte(payload)))), payload...)
}

// TestBuiltBytes spells one record of each kind out.
func TestBuiltBytes(t *testing.T) {
	b := blob(t, "abc")
	if want := raw(Blob, "Data-Length: 3\n\nabc"); !bytes.Equal(b.Bytes(), want) {
		t.Errorf("Blob:\n%s\nwant:\n%s", b.Bytes(), want)
	}
	p := plex(t, "abc", Header{"Topic", "b"}, Header{"Pin", "1"}, Header{"Topic", "a"})
	want := raw(Plex, "Group: g\nApp: a\nName: n\nTAI: 1700000000:000000000\nPin: 1\nTopic: b\nTopic: a\n"+string(b.Bytes()))
	if !bytes.Equal(p.Bytes(), want) {
		t.Errorf("Plex:\n%s\nwant:\n%s", p.Bytes(), want)
	}
	s := seal(t, p)
	want = raw(Seal, "By: "+VerifierKey{1}.String()+"\nMark: "+Mark{2}.String()+"\n"+string(p.Bytes()))
	if !bytes.Equal(s.Bytes(), want) {
		t.Errorf("Seal:\n%s\nwant:\n%s", s.Bytes(), want)
	}
	if inner, ok := s.Plex(); !ok || inner.Hash() != p.Hash() || !bytes.Equal(inner.Bytes(), p.Bytes()) {
		t.Error("the Seal does not carry the Plex")
	}
	if inner, ok := s.Blob(); !ok || inner.Hash() != b.Hash() || string(inner.Data()) != "abc" || string(s.Data()) != "abc" {
		t.Error("the Seal does not carry the Blob")
	}
	if string(s.DataLenText()) != "3" || s.DataLen() != 3 {
		t.Errorf("data length %s, %d", s.DataLenText(), s.DataLen())
	}
	if _, ok := p.Plex(); ok {
		t.Error("a Plex carries a Plex")
	}
	if _, ok := b.Blob(); ok {
		t.Error("a Blob carries a Blob")
	}
}

// maximum returns extra headers and coordinates that use every limit up.
func maximum() (Coordinates, []Header) {
	c := coordinates
	fixed := len("Group: g\nApp: a\nName: \nTAI: 1700000000:000000000\n")
	c.Name = strings.Repeat("n", MaxCoordinatesLen-fixed)
	const perLine = MaxExtraLen / 64
	var extra []Header
	for range 64 {
		extra = append(extra, Header{"X", strings.Repeat("x", perLine-len("X: \n"))})
	}
	return c, extra
}

// TestMaximumSeal pins the published length of the greatest record and builds
// it.
func TestMaximumSeal(t *testing.T) {
	const glyphs, dataLength, empty, by, mark = 3 * GlyphLen, 22, 1, 53, 93
	sum := MaxDataLen + glyphs + dataLength + empty + by + mark + MaxCoordinatesLen + MaxExtraLen
	if sum != 33_620_814 {
		t.Fatalf("the limits add up to %d", sum)
	}
	if MaxRecordLen != sum {
		t.Fatalf("MaxRecordLen is %d", MaxRecordLen)
	}
	inner, err := BuildBlob(nil, bytes.Repeat([]byte{0xA5}, MaxDataLen))
	if err != nil {
		t.Fatal(err)
	}
	c, extra := maximum()
	p, err := BuildPlex(nil, c, extra, inner)
	if err != nil {
		t.Fatal(err)
	}
	s := seal(t, p)
	if len(s.Bytes()) != MaxRecordLen {
		t.Errorf("the greatest Seal has %d bytes, want %d", len(s.Bytes()), MaxRecordLen)
	}
	if _, err := ParseStrict(s.Bytes()); err != nil {
		t.Error(err)
	}
	// The same content with older, longer lines is over the limit. Its glyph
	// line names another digest, which is checked only after the limits.
	older := strings.Replace(string(s.Bytes()[:s.dataAt]), "\nBy: ", "\nSigned-By: ", 1)
	older = strings.Replace(older, "\nMark: ", "\nSignature: ", 1)
	if _, err := ParseStrict(append([]byte(older), s.Data()...)); err == nil || !strings.Contains(err.Error(), "33620826 bytes") {
		t.Errorf("greatest Seal with older lines: %v", err)
	}
}

func TestBuildRefuses(t *testing.T) {
	_, extra := maximum()
	long := func(n int) string { return strings.Repeat("x", n) }
	with := func(change func(*Coordinates)) Coordinates {
		c := coordinates
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		coordinates Coordinates
		extra       []Header
		want        string
	}{
		"coordinates too long": {with(func(c *Coordinates) { c.Name = long(464) }), nil, "coordinates exceed 512 bytes"},
		"empty coordinate":     {with(func(c *Coordinates) { c.App = "" }), nil, `header "App" has no value`},
		"TAI":                  {with(func(c *Coordinates) { c.TAI = "1700000000" }), nil, "TAI"},
		"line break in name":   {with(func(c *Coordinates) { c.Name = "a\nb" }), nil, "control byte 0x0a"},
		"extra too long":       {coordinates, append(slices.Clone(extra), Header{"Y", "y"}), "extra headers exceed 65536 bytes"},
		"reserved":             {coordinates, []Header{{"Mark", "x"}}, `"Mark" is reserved`},
		"glyph":                {coordinates, []Header{{"🖧", "x"}}, `"🖧" is reserved`},
		"line too long":        {coordinates, []Header{{"X", long(1022)}}, "1025 bytes, at most 1024"},
		"colon in name":        {coordinates, []Header{{"X:Y", "x"}}, "has a colon"},
		"space in name":        {coordinates, []Header{{"X Y", "x"}}, "has a colon, space or tab"},
		"no name":              {coordinates, []Header{{"", "x"}}, "is empty"},
		"no value":             {coordinates, []Header{{"X", ""}}, "no value"},
		"leading space":        {coordinates, []Header{{"X", " x"}}, "more than one space"},
		"not UTF-8":            {coordinates, []Header{{"X", "\xff"}}, "not UTF-8"},
		"not NFC":              {coordinates, []Header{{"X", "e\u0301"}}, "normalization form C"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := BuildPlex(nil, c.coordinates, c.extra, blob(t, "")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := BuildBlob(nil, make([]byte, MaxDataLen+1)); err == nil {
		t.Error("a Blob over the limit was built")
	}
	if _, err := BuildPlex(nil, coordinates, nil, plex(t, "")); err == nil {
		t.Error("a Plex around a Plex was built")
	}
	if _, err := BuildSeal(nil, blob(t, ""), VerifierKey{}, Mark{}); err == nil {
		t.Error("a Seal around a Blob was built")
	}
}

// drawHeaders draws extra headers of which some share a name.
func drawHeaders(t *rapid.T) []Header {
	name := rapid.SampledFrom([]string{"A", "Pin", "Topic", "é", "a", "Ref", "日本"})
	value := rapid.StringMatching(`[!-~éß日]([ -~éß日]{0,20})`)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Header {
		return Header{name.Draw(t, "name"), value.Draw(t, "value")}
	}), 0, 12).Draw(t, "headers")
}

// TestBuildParse: what is built is strictly valid and reads back as given.
func TestBuildParse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "data")
		extra := drawHeaders(rt)
		given := slices.Clone(extra)
		buf := make([]byte, rapid.IntRange(0, 900).Draw(rt, "buf"))
		inner, err := BuildBlob(nil, data)
		if err != nil {
			rt.Fatal(err)
		}
		p, err := BuildPlex(buf, coordinates, extra, inner)
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(extra, given) {
			rt.Error("the caller's headers were reordered")
		}
		for _, v := range []View{inner, p, seal(t, p)} {
			got, err := ParseStrict(v.Bytes())
			if err != nil {
				rt.Fatalf("%v\n%s", err, v.Bytes())
			}
			if got.Hash() != v.Hash() || !bytes.Equal(got.Data(), data) {
				rt.Errorf("reads back as %s with %x", got.Hash(), got.Data())
			}
		}
		slices.SortStableFunc(given, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
		var got []Header
		for name, value := range p.PlexHeaders().All() {
			got = append(got, Header{string(name), string(value)})
		}
		want := append([]Header{{"Group", "g"}, {"App", "a"}, {"Name", "n"}, {"TAI", coordinates.TAI}}, given...)
		if !slices.Equal(got, want) {
			rt.Errorf("headers %v, want %v", got, want)
		}
	})
}

// TestBuildInPlace: a large enough buffer is used, as batches rely on.
func TestBuildInPlace(t *testing.T) {
	buf := make([]byte, 4096)
	v, err := BuildPlex(buf[100:100], coordinates, []Header{{"X", "y"}}, blob(t, "abc"))
	if err != nil {
		t.Fatal(err)
	}
	if &v.Bytes()[0] != &buf[100] {
		t.Error("the record was built elsewhere")
	}
}

func TestFormatTAI(t *testing.T) {
	if got := FormatTAI(1387563974+37, 1); got != "1387564011:000000001" {
		t.Errorf("got %s", got)
	}
}
