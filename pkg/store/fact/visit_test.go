package fact

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/store/record"
)

const coordinates = "Group: g\nApp: a\nName: n\nTAI: 1700000000:000000000\n"

// raw gives any payload the glyph line that names its digest.
func raw(kind record.Kind, payload string) string {
	h := record.MakeHash(kind, blake3.Sum256([]byte(payload)))
	return string(record.AppendGlyphLine(nil, h)) + payload
}

func blob(data string) string {
	return raw(record.Blob, fmt.Sprintf("Data-Length: %d\n\n%s", len(data), data))
}

func plex(headers, data string) string { return raw(record.Plex, headers+blob(data)) }

var (
	verifier = record.VerifierKey{1}.String()
	mark     = record.Mark{2}.String()
	target   = record.MakeHash(record.Seal, record.Digest{3}).String()
)

func hashOf(rec string) string { return rec[6:54] }

func TestCollect(t *testing.T) {
	b := blob("abc")
	p := plex(coordinates+"Pin: 1\nRef: a b "+target+"\nRef: "+target+"\nTopic: x\nTopic: y\n", "abc")
	s := raw(record.Seal, "By: "+verifier+"\nMark: "+mark+"\n"+p)
	oldest := raw(record.Seal, "Signed-By: "+verifier+"\nSignature: "+mark+"\n"+p)
	ofPlex := `Field(R, "Group", 0, "g")
Field(R, "App", 0, "a")
Field(R, "Name", 0, "n")
Field(R, "TAI", 0, "1700000000:000000000")
Field(R, "Pin", 0, "1")
Field(R, "Ref", 0, "a b ` + target + `")
RecordLink(R, "Ref", 0, "a b", ` + target + `)
Field(R, "Ref", 1, "` + target + `")
RecordLink(R, "Ref", 1, "", ` + target + `)
Field(R, "Topic", 0, "x")
Field(R, "Topic", 1, "y")
`
	ofSeal := `Field(R, ":Type", 0, "S")
Field(R, ":Length", 0, "3")
Field(R, "By", 0, "` + verifier + `")
` + ofPlex + `ContainsRecord(R, ` + hashOf(p) + `)
ContainsRecord(R, ` + hashOf(b) + `)
`
	for name, c := range map[string]struct{ rec, want string }{
		"blob":   {b, "Field(R, \":Type\", 0, \"B\")\nField(R, \":Length\", 0, \"3\")\n"},
		"plex":   {p, "Field(R, \":Type\", 0, \"P\")\nField(R, \":Length\", 0, \"3\")\n" + ofPlex + "ContainsRecord(R, " + hashOf(b) + ")\n"},
		"seal":   {s, ofSeal},
		"oldest": {oldest, ofSeal},
	} {
		t.Run(name, func(t *testing.T) {
			facts, err := Collect([]byte(c.rec))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, f := range facts {
				fmt.Fprintln(&got, f)
			}
			if got.String() != c.want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), c.want)
			}
		})
	}
}

// TestLinks: which header values are links.
func TestLinks(t *testing.T) {
	for _, c := range []struct {
		name, value string
		link        bool
		data        string
	}{
		{"Ref", target, true, ""},
		{"Ref", "12 " + target, true, "12"},
		{"Ref", "a  " + target, true, "a "},
		{"Ref", " " + target, true, ""},
		{"Ref", target + " " + target, true, target},
		{"Ref", target + " ", false, ""},
		{"Ref", "a" + target, false, ""},
		{"Ref", "a\t" + target, false, ""},
		{"Ref", "V" + target[1:], false, ""},
		{"Ref", "12 " + target[:44] + "1.H3", false, ""},
		{"Ref", target[:47], false, ""},
		{"Ref", "x", false, ""},
		{"Name", target, false, ""},
		{"By", target, false, ""},
	} {
		facts, err := Collect([]byte(plex(c.name+": "+c.value+"\n", "")))
		if err != nil {
			t.Fatal(err)
		}
		want := []Fact{
			{Predicate: Field, Name: ":Type", Value: "P"},
			{Predicate: Field, Name: ":Length", Value: "0"},
			{Predicate: Field, Name: c.name, Value: c.value},
		}
		if c.link {
			want = append(want, Fact{Predicate: RecordLink, Name: c.name, Data: c.data, Target: target})
		}
		want = append(want, Fact{Predicate: ContainsRecord, Target: hashOf(blob(""))})
		if !slices.Equal(facts, want) {
			t.Errorf("%s: %s\ngot  %v\nwant %v", c.name, c.value, facts, want)
		}
	}
}

// drawLines draws header lines in any order, with names that repeat and with
// reserved ones, as lenient reading allows.
func drawLines(t *rapid.T) (lines [][2]string) {
	if rapid.Bool().Draw(t, "coordinates") {
		lines = append(lines, [2]string{"Group", "g"}, [2]string{"App", "a"}, [2]string{"Name", "n"}, [2]string{"TAI", "t"})
	}
	name := rapid.SampledFrom([]string{"A", "Ref", "Topic", "é", "Name", "By", "Group", "Mark"})
	value := rapid.SampledFrom([]string{"x", "y z", target, "data " + target, "two words " + target, target + " x", ""})
	extra := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]string {
		return [2]string{name.Draw(t, "name"), value.Draw(t, "value")}
	}), 0, 8).Draw(t, "lines")
	if rapid.Bool().Draw(t, "sorted") {
		slices.SortStableFunc(extra, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	}
	return append(lines, extra...)
}

// naive projects the parts that a record was made of, and reads no bytes.
func naive(kind string, lines [][2]string, data string, contained ...string) []Fact {
	facts := []Fact{
		{Predicate: Field, Name: ":Type", Value: kind},
		{Predicate: Field, Name: ":Length", Value: fmt.Sprint(len(data))},
	}
	for i, l := range lines {
		index := 0
		for _, before := range lines[:i] {
			if before[0] == l[0] {
				index++
			}
		}
		facts = append(facts, Fact{Predicate: Field, Name: l[0], Index: index, Value: l[1]})
		words := strings.Split(l[1], " ")
		last := words[len(words)-1]
		if last == target && !slices.Contains([]string{"Name", "By", "Group", "Mark"}, l[0]) {
			facts = append(facts, Fact{Predicate: RecordLink, Name: l[0], Index: index, Data: strings.Join(words[:len(words)-1], " "), Target: last})
		}
	}
	for _, c := range contained {
		facts = append(facts, Fact{Predicate: ContainsRecord, Target: c})
	}
	return facts
}

// TestVisitAgainstNaive compares with the parts that records were made of, and
// ends each visit early at every fact.
func TestVisitAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.StringN(0, 40, 60).Draw(t, "data")
		lines := drawLines(t)
		var text strings.Builder
		for _, l := range lines {
			fmt.Fprintf(&text, "%s: %s\n", l[0], l[1])
		}
		b := blob(data)
		p := raw(record.Plex, text.String()+b)
		rec, want := p, naive("P", lines, data, hashOf(b))
		if rapid.Bool().Draw(t, "sealed") {
			rec = raw(record.Seal, "By: "+verifier+"\nMark: "+mark+"\n"+p)
			sealed := append([][2]string{{"By", verifier}}, lines...)
			want = naive("S", sealed, data, hashOf(p), hashOf(b))
		}
		got, err := Collect([]byte(rec))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got\n%v\nwant\n%v\n%s", got, want, rec)
		}
		for n := 1; n <= len(want); n++ {
			some := stopping{left: n}
			if err := Visit([]byte(rec), &some); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal([]Fact(some.collector), want[:n]) {
				t.Fatalf("stopped at fact %d: got %v", n, some.collector)
			}
		}
	})
}

// stopping ends a visit after some facts.
type stopping struct {
	collector
	left int
}

func (s *stopping) more() bool { s.left--; return s.left > 0 }

func (s *stopping) Field(name []byte, index int, value []byte) bool {
	return s.collector.Field(name, index, value) && s.more()
}

func (s *stopping) Link(name []byte, index int, data, target []byte) bool {
	return s.collector.Link(name, index, data, target) && s.more()
}

func (s *stopping) Contains(contained []byte) bool {
	return s.collector.Contains(contained) && s.more()
}

// TestManyUnsortedHeaders: no order of headers makes a visit quadratic. The
// quadratic way would take minutes here.
func TestManyUnsortedHeaders(t *testing.T) {
	const n = 400_000
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "H%d: x\n", n-i)
	}
	facts, err := Collect([]byte(plex(text.String()+"H1: y\n", "")))
	if err != nil {
		t.Fatal(err)
	}
	last := facts[len(facts)-2]
	if want := (Fact{Predicate: Field, Name: "H1", Index: 1, Value: "y"}); len(facts) != n+4 || last != want {
		t.Errorf("%d facts, the last header is %v", len(facts), last)
	}
}

// TestRefusesBeforeTheFirstFact: a visitor of broken bytes sees nothing.
func TestRefusesBeforeTheFirstFact(t *testing.T) {
	rec := []byte(plex(coordinates+"Topic: x\n", "abc"))
	for at := range rec {
		var c collector
		if err := Visit(rec[:at], &c); err == nil || len(c) > 0 {
			t.Fatalf("cut at %d: %v, %v", at, c, err)
		}
	}
}

// counting counts facts without keeping them.
type counting struct{ n int }

func (c *counting) Field(_ []byte, _ int, value []byte) bool { c.n += len(value); return true }
func (c *counting) Link(_ []byte, _ int, _, target []byte) bool {
	c.n += len(target)
	return true
}
func (c *counting) Contains(contained []byte) bool { c.n += len(contained); return true }

// typical is a sealed record of about 1 KiB with a few headers and a link.
func typical() []byte {
	p := plex(coordinates+"Pin: 1\nRef: reply "+target+"\nTopic: some topic\nTopic: another\n", strings.Repeat("x", 1024))
	return []byte(raw(record.Seal, "By: "+verifier+"\nMark: "+mark+"\n"+p))
}

func TestVisitDoesNotAllocate(t *testing.T) {
	rec := typical()
	var c counting
	if n := testing.AllocsPerRun(100, func() {
		if err := Visit(rec, &c); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkVisit(b *testing.B) {
	for name, rec := range map[string][]byte{
		"blob": []byte(blob("abc")),
		"plex": []byte(plex(coordinates+"Ref: reply "+target+"\nTopic: some topic\n", strings.Repeat("x", 1024))),
		"seal": typical(),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(rec)))
			var c counting
			for b.Loop() {
				if err := Visit(rec, &c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzVisit: no panic, the views lie inside the record or are fixed names, and
// every target is a canonical typed hash.
func FuzzVisit(f *testing.F) {
	f.Add([]byte(blob("")))
	f.Add(typical())
	f.Add([]byte(plex("Name: "+target+"\nB: "+target+"\nA: x "+target+"\nB: y\n", "abc")))
	f.Fuzz(func(t *testing.T, rec []byte) {
		facts, err := Collect(rec)
		if err != nil {
			if facts != nil {
				t.Errorf("facts with an error: %v", facts)
			}
			return
		}
		seen := map[Fact]bool{}
		for i, fact := range facts {
			if fact.Predicate != Field {
				if _, err := record.ParseHash([]byte(fact.Target)); err != nil || !bytes.Contains(rec, []byte(fact.Target)) {
					t.Errorf("fact %d: %v", i, fact)
				}
			}
			if seen[fact] {
				t.Errorf("fact %d twice: %v", i, fact)
			}
			seen[fact] = true
			if fact.Predicate == Field && fact.Index > 0 && !hasField(facts[:i], fact.Name, fact.Index-1) {
				t.Errorf("fact %d skips an index: %v", i, fact)
			}
		}
	})
}

func hasField(facts []Fact, name string, index int) bool {
	return slices.ContainsFunc(facts, func(f Fact) bool {
		return f.Predicate == Field && f.Name == name && f.Index == index
	})
}
