package record

import (
	"errors"
	"io"
	"strings"
	"testing"
)

const goodHeaders = "Group: g\nApp: a\nName: n\nTAI: 1700000000:000000000\n"

// parseCases are records that lenient or strict reading refuses. want is part
// of the strict error; lenient says whether lenient reading refuses, too.
func parseCases(t testing.TB) map[string]struct {
	rec     []byte
	want    string
	lenient bool
} {
	inner := string(blob(t, "abc").Bytes())
	p := func(headers string) []byte { return raw(Plex, headers+inner) }
	extra := func(lines string) []byte { return p(goodHeaders + lines) }
	carried := string(plex(t, "abc").Bytes())
	by, mark := VerifierKey{1}.String(), Mark{2}.String()
	s := func(lines string) []byte { return raw(Seal, lines+carried) }
	long := strings.Repeat("x", 1021)
	flipped := strings.Replace(inner, "abc", "abd", 1)
	return map[string]struct {
		rec     []byte
		want    string
		lenient bool
	}{
		"empty":                  {nil, "byte 0: ends inside a record", true},
		"glyph only":             {raw(Blob, ""), "byte 55: ends inside a record", true},
		"no glyph":               {[]byte(strings.Repeat("x", 80)), "not a glyph line", true},
		"no length line":         {raw(Blob, "Length: 3\n\nabc"), `"Length" where Data-Length belongs`, true},
		"length with zero":       {raw(Blob, "Data-Length: 03\n\nabc"), "canonical decimal", true},
		"length with sign":       {raw(Blob, "Data-Length: +3\n\nabc"), "canonical decimal", true},
		"length huge":            {raw(Blob, "Data-Length: 9999999999999999999\n\nabc"), "canonical decimal", true},
		"length over the limit":  {raw(Blob, "Data-Length: 33554433\n\n"+strings.Repeat("x", 33_554_433)), "at most 33554432", false},
		"length too great":       {raw(Blob, "Data-Length: 4\n\nabc"), "3 bytes of data, Data-Length says 4", true},
		"length too small":       {raw(Blob, "Data-Length: 2\n\nabc"), "3 bytes of data, Data-Length says 2", true},
		"no empty line":          {raw(Blob, "Data-Length: 3\nabc"), "empty line", true},
		"ends behind length":     {raw(Blob, "Data-Length: 0\n"), "ends inside a record", true},
		"wrong digest":           {[]byte(flipped), "do not match", false},
		"wrong embedded digest":  {raw(Plex, goodHeaders+flipped), "byte 105: bytes do not match", false},
		"blob in a seal":         {raw(Seal, "By: "+by+"\nMark: "+mark+"\n"+inner), "of kind B where one of kind P belongs", true},
		"plex in a plex":         {raw(Plex, goodHeaders+carried), "of kind P where one of kind B belongs", true},
		"line without colon":     {extra("Topic\n"), "not a header line", true},
		"line without space":     {extra("Topic:x\n"), "not a header line", true},
		"line without name":      {extra(": x\n"), "not a header line", true},
		"empty line in headers":  {extra("\n"), "not a header line", true},
		"coordinate missing":     {p("Group: g\nApp: a\nTAI: 1700000000:000000000\nX: x\n"), `"TAI" where Name belongs`, false},
		"coordinates cut":        {p("Group: g\nApp: a\nName: n\n"), "TAI is missing", false},
		"coordinates swapped":    {p("App: a\nGroup: g\nName: n\nTAI: 1700000000:000000000\n"), `"App" where Group belongs`, false},
		"coordinate twice":       {extra("Name: n\n"), `"Name" is reserved`, false},
		"TAI short":              {p("Group: g\nApp: a\nName: n\nTAI: 170000000:000000000\n"), "TAI", false},
		"TAI with a point":       {p("Group: g\nApp: a\nName: n\nTAI: 1700000000.000000000\n"), "TAI", false},
		"unsorted":               {extra("B: x\nA: x\n"), "sorted by name", false},
		"no value":               {extra("A: \n"), "no value", false},
		"two spaces":             {extra("A:  x\n"), "more than one space", false},
		"space in name":          {extra("A B: x\n"), "colon, space or tab", false},
		"tab in value":           {extra("A: x\ty\n"), "control byte 0x09", false},
		"CR in value":            {extra("A: x\r\n"), "control byte 0x0d", false},
		"DEL in name":            {extra("A\x7f: x\n"), "control byte 0x7f", false},
		"not UTF-8":              {extra("A: \xc3\n"), "not UTF-8", false},
		"not NFC":                {extra("A: e\u0301\n"), "normalization form C", false},
		"name not NFC":           {extra("e\u0301: x\n"), "normalization form C", false},
		"line of 1025":           {extra("A: " + long + "x\n"), "1025 bytes, at most 1024", false},
		"seal lines swapped":     {s("Mark: " + mark + "\nBy: " + by + "\n"), `"Mark" where By belongs`, true},
		"seal pair mixed":        {s("By: " + by + "\nSignature: " + mark + "\n"), `"Signature" where Mark belongs`, true},
		"seal with one line":     {s("By: " + by + "\n"), "where Mark belongs", true},
		"seal with three lines":  {s("By: " + by + "\nMark: " + mark + "\nMark: " + mark + "\n"), "not a glyph line", true},
		"verifier of other kind": {s("By: P" + by[1:] + "\nMark: " + mark + "\n"), "not of the form V.", false},
		"verifier tail bits":     {s("By: " + by[:44] + "1.H3\nMark: " + mark + "\n"), "verifier", false},
		"mark short":             {s("By: " + by + "\nMark: " + mark[1:] + "\n"), "mark has 85 characters", false},
		"mark tail bits":         {s("By: " + by + "\nMark: " + mark[:85] + "1\n"), "mark: ", false},
		"mark line break":        {s("By: " + by + "\nMark: " + mark[:85] + "\r\n"), "line break", false},
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range parseCases(t) {
		t.Run(name, func(t *testing.T) {
			_, err := ParseStrict(c.rec)
			var format *FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("strict: got %v, want a FormatError with %q", err, c.want)
			}
			if _, err := Parse(c.rec); (err != nil) != c.lenient {
				t.Errorf("lenient: got %v, want refusal %v", err, c.lenient)
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	inner := string(blob(t, "abc").Bytes())
	carried := string(plex(t, "abc").Bytes())
	by, mark := VerifierKey{1}.String(), Mark{2}.String()
	for name, rec := range map[string][]byte{
		"empty data":             raw(Blob, "Data-Length: 0\n\n"),
		"line of 1024":           raw(Plex, goodHeaders+"A: "+strings.Repeat("x", 1021)+"\n"+inner),
		"repeated name":          raw(Plex, goodHeaders+"A: 2\nA: 1\nA: 1\n"+inner),
		"trailing space, colons": raw(Plex, goodHeaders+"A: x: y \n"+inner),
		"oldest seal":            raw(Seal, "Signed-By: "+by+"\nSignature: "+mark+"\n"+carried),
		"older seal":             raw(Seal, "Seal-By: "+by+"\nSeal-Sig: "+mark+"\n"+carried),
		"data like a record":     blob(t, carried).Bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			v, err := ParseStrict(rec)
			if err != nil {
				t.Fatal(err)
			}
			if verifier, m, ok := v.SealTexts(); ok && (string(verifier) != by || string(m) != mark) {
				t.Errorf("seal texts %s %s", verifier, m)
			}
		})
	}
}

// TestParseTruncated cuts a Seal everywhere: never a panic, always an error,
// and io.ErrUnexpectedEOF in front of the data.
func TestParseTruncated(t *testing.T) {
	v := seal(t, plex(t, "abc", Header{"Topic", "x"}))
	for at := range v.Bytes() {
		_, err := Parse(v.Bytes()[:at])
		if err == nil {
			t.Errorf("cut at %d: no error", at)
		}
		if at < v.dataAt && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", at, err)
		}
	}
}

// TestParseFlipped flips every bit: strict reading notices each.
func TestParseFlipped(t *testing.T) {
	v := seal(t, plex(t, "abc", Header{"Topic", "x"}))
	b := append([]byte(nil), v.Bytes()...)
	for i := range 8 * len(b) {
		b[i/8] ^= 1 << (i % 8)
		if got, err := ParseStrict(b); err == nil {
			t.Errorf("bit %d flipped: read as %s", i, got.Hash())
		}
		b[i/8] ^= 1 << (i % 8)
	}
}
