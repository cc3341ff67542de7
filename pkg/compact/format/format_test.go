package format_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store/record"
)

// hashOf makes a canonical typed hash out of a number.
func hashOf(n byte) record.Hash {
	return record.MakeHash(record.Blob, record.Digest{n, 1: 7, 31: n})
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		state format.State
		text  string
	}{
		{format.State{Phase: format.Move}, "move 0\n"},
		{format.State{Phase: format.Move, Cursor: 1234567}, "move 1234567\n"},
		{format.State{Phase: format.Reload, Cursor: math.MaxUint64}, "reload 18446744073709551615\n"},
	} {
		if got := string(c.state.AppendTo(nil)); got != c.text {
			t.Errorf("%+v is written %q, want %q", c.state, got, c.text)
		}
		if got, err := format.DecodeState([]byte(c.text)); err != nil || got != c.state {
			t.Errorf("%q is read %+v, %v", c.text, got, err)
		}
		if len(c.text) > format.MaxStateLen {
			t.Errorf("%q is longer than MaxStateLen", c.text)
		}
	}
}

func TestStatesRejected(t *testing.T) {
	for _, text := range []string{
		"", "\n", "move", "move \n", "move 1", "move 1\n\n", "move 1\r\n", "move 01\n", "move +1\n", "move -1\n",
		"move 1 \n", " move 1\n", "move  1\n", "move\t1\n", "MOVE 1\n", "mov 1\n", "moved 1\n", "move 1\x00\n",
		"move 0x1\n", "move 1_0\n", "move 18446744073709551616\n", "reload\n", "0\n", "move one\n", "\x00\x00\x00\x00\x00\x00\x00",
		"move 1\nmove 1\n", "move " + strings.Repeat("0", 1000) + "\n",
	} {
		if got, err := format.DecodeState([]byte(text)); err == nil {
			t.Errorf("%.40q is read %+v", text, got)
		}
	}
}

func TestPlanHeadersRejected(t *testing.T) {
	good := format.PlanHeader{Boundary: 5, Retained: 3, Journal: 100, OldEnd: 500}
	if got, err := format.DecodePlanHeader(good.AppendTo(nil)); err != nil || got != good {
		t.Fatalf("round trip: %+v, %v", got, err)
	}
	if good.PlanLen() != 32+3*72 {
		t.Errorf("PlanLen = %d", good.PlanLen())
	}
	for name, h := range map[string]format.PlanHeader{
		"more retained than there are": {Boundary: 2, Retained: 3, Journal: 1, OldEnd: 1},
		"a plan no file could hold":    {Boundary: math.MaxUint64, Retained: math.MaxUint64 / 72, Journal: 1, OldEnd: 1},
		"an end no file has":           {Boundary: 2, Retained: 1, Journal: 1, OldEnd: math.MaxInt64 + 1},
		"no room for a batch":          {Boundary: 2, Retained: 1, OldEnd: 1},
	} {
		if got, err := format.DecodePlanHeader(h.AppendTo(nil)); err == nil {
			t.Errorf("%s: read %+v", name, got)
		}
	}
	for n := range format.PlanHeaderLen {
		if _, err := format.DecodePlanHeader(good.AppendTo(nil)[:n]); err == nil {
			t.Errorf("%d bytes are a header", n)
		}
	}
}

func TestPlanRowsRejected(t *testing.T) {
	good := format.PlanRow{Hash: hashOf(1), OffsetOld: 200, OffsetNew: 100, Len: 50}
	if got, err := format.DecodePlanRow(good.AppendTo(nil)); err != nil || got != good {
		t.Fatalf("round trip: %+v, %v", got, err)
	}
	if got, err := format.DecodeCheckedPlanRow(good.AppendTo(nil)); err != nil || got != good {
		t.Fatalf("round trip of a checked row: %+v, %v", got, err)
	}
	bad := hashOf(1)
	bad[5] = '/'
	for name, r := range map[string]format.PlanRow{
		"no hash":                      {OffsetOld: 200, OffsetNew: 100, Len: 50},
		"a hash that is not canonical": {Hash: bad, OffsetOld: 200, OffsetNew: 100, Len: 50},
		"no bytes":                     {Hash: hashOf(1), OffsetOld: 200, OffsetNew: 100},
		"a move upwards":               {Hash: hashOf(1), OffsetOld: 100, OffsetNew: 101, Len: 50},
		"an offset no file has":        {Hash: hashOf(1), OffsetOld: math.MaxInt64 + 1, Len: 1},
		"an end that overflows":        {Hash: hashOf(1), OffsetOld: 10, Len: math.MaxUint64 - 5},
		"an end no file has":           {Hash: hashOf(1), OffsetOld: 10, Len: math.MaxInt64},
	} {
		if got, err := format.DecodePlanRow(r.AppendTo(nil)); err == nil {
			t.Errorf("%s: read %+v", name, got)
		}
	}
	for n := range format.PlanRowLen {
		if _, err := format.DecodePlanRow(good.AppendTo(nil)[:n]); err == nil {
			t.Errorf("%d bytes are a row", n)
		}
	}
}

// planOf is a believable plan over four old rows, of which the first and the
// third stay.
func planOf() (format.PlanHeader, []format.PlanRow, []format.OldRow) {
	old := []format.OldRow{
		{Hash: hashOf(1), Offset: 0, Len: 10},
		{Hash: hashOf(2), Offset: 10, Len: 20},
		{Hash: hashOf(3), Offset: 30, Len: 30},
		{Hash: hashOf(4), Offset: 60, Len: 40},
	}
	return format.PlanHeader{Boundary: 4, Retained: 2, Journal: 30, OldEnd: 100}, []format.PlanRow{
		{Hash: hashOf(1), OffsetOld: 0, OffsetNew: 0, Len: 10},
		{Hash: hashOf(3), OffsetOld: 30, OffsetNew: 10, Len: 30},
	}, old
}

// believe is what a resume does with a plan before it moves a byte.
func believe(h format.PlanHeader, rows []format.PlanRow, old []format.OldRow) error {
	if err := h.Validate(); err != nil {
		return err
	}
	check := format.NewChecker(h)
	for _, r := range rows {
		if err := check.Row(r); err != nil {
			return err
		}
	}
	if _, err := check.End(); err != nil {
		return err
	}
	match := format.NewMatcher(format.RowIndex(len(rows)), func(i format.RowIndex) (format.PlanRow, error) { return rows[i], nil })
	found := 0
	for _, o := range old {
		before, err := match.Before(o.Offset)
		if err != nil {
			return err
		}
		ok, err := match.Old(o)
		if err != nil {
			return err
		}
		if ok == before {
			return fmt.Errorf("old row at %d is before the next of the plan: %v, found: %v", o.Offset, before, ok)
		}
		if ok {
			found++
		}
	}
	if err := match.End(); err != nil {
		return err
	}
	if found != len(rows) || match.Next() != format.RowIndex(found) {
		return fmt.Errorf("%d of %d rows found, the next is %d", found, len(rows), match.Next())
	}
	return nil
}

func TestAnUnreadablePlanIsNoMismatch(t *testing.T) {
	broken := errors.New("broken disk")
	match := format.NewMatcher(1, func(format.RowIndex) (format.PlanRow, error) { return format.PlanRow{}, broken })
	if found, err := match.Old(format.OldRow{}); found || err != broken {
		t.Errorf("Old = %v, %v", found, err)
	}
	if before, err := match.Before(0); before || err != broken {
		t.Errorf("Before = %v, %v", before, err)
	}
	if err := match.End(); err != broken {
		t.Errorf("End = %v", err)
	}
}

func TestAPlanIsBelievedOnlyWhenEverythingFits(t *testing.T) {
	h, rows, old := planOf()
	if err := believe(h, rows, old); err != nil {
		t.Fatalf("a good plan: %v", err)
	}
	for name, spoil := range map[string]func(h *format.PlanHeader, r []format.PlanRow, old []format.OldRow){
		"a gap between new places":      func(_ *format.PlanHeader, r []format.PlanRow, _ []format.OldRow) { r[1].OffsetNew = 11 },
		"new places overlap":            func(_ *format.PlanHeader, r []format.PlanRow, _ []format.OldRow) { r[1].OffsetNew = 9 },
		"old places overlap":            func(_ *format.PlanHeader, r []format.PlanRow, _ []format.OldRow) { r[0].Len = 31; r[1].OffsetNew = 31 },
		"old places descend":            func(_ *format.PlanHeader, r []format.PlanRow, _ []format.OldRow) { r[0].OffsetOld = 50 },
		"an old place behind the end":   func(h *format.PlanHeader, _ []format.PlanRow, _ []format.OldRow) { h.OldEnd = 59 },
		"a row longer than a batch":     func(h *format.PlanHeader, _ []format.PlanRow, _ []format.OldRow) { h.Journal = 29 },
		"one row fewer than the header": func(h *format.PlanHeader, _ []format.PlanRow, _ []format.OldRow) { h.Retained = 3 },
		"one row more than the header":  func(h *format.PlanHeader, _ []format.PlanRow, _ []format.OldRow) { h.Retained = 1 },
		"another hash":                  func(_ *format.PlanHeader, r []format.PlanRow, _ []format.OldRow) { r[1].Hash = hashOf(9) },
		"another length":                func(_ *format.PlanHeader, r []format.PlanRow, _ []format.OldRow) { r[1].Len = 29 },
		"another old offset":            func(_ *format.PlanHeader, r []format.PlanRow, _ []format.OldRow) { r[1].OffsetOld = 31 },
		"a row the log lacks":           func(_ *format.PlanHeader, _ []format.PlanRow, old []format.OldRow) { old[2].Offset = 61 },
	} {
		h, rows, old := planOf()
		spoil(&h, rows, old)
		if err := believe(h, rows, old); err == nil {
			t.Errorf("%s: believed", name)
		}
	}
}

// TestPlansOfAnyKeptSet: a plan made the way the seed says is believed, and no
// longer so when any one of its numbers changes.
func TestPlansOfAnyKeptSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h format.PlanHeader
		var rows []format.PlanRow
		var old []format.OldRow
		end, newEnd := uint64(0), uint64(0)
		for n := range rapid.IntRange(1, 12).Draw(t, "records") {
			o := format.OldRow{Hash: hashOf(byte(n)), Offset: end, Len: rapid.Uint64Range(1, 99).Draw(t, "len")}
			old, end = append(old, o), end+o.Len
			if rapid.Bool().Draw(t, "kept") {
				rows = append(rows, format.PlanRow{Hash: o.Hash, OffsetOld: o.Offset, OffsetNew: newEnd, Len: o.Len})
				newEnd += o.Len
				h.Journal = max(h.Journal, o.Len)
			}
		}
		h.Boundary, h.Retained, h.OldEnd = 12, uint64(len(rows)), end
		if err := believe(h, rows, old); err != nil {
			t.Fatalf("not believed: %v", err)
		}
		if len(rows) == 0 {
			return
		}
		r := &rows[rapid.IntRange(0, len(rows)-1).Draw(t, "row")]
		by := rapid.Uint64Range(1, 50).Draw(t, "by")
		switch rapid.IntRange(0, 3).Draw(t, "number") {
		case 0:
			r.OffsetOld += by
		case 1:
			r.OffsetNew += by
		case 2:
			r.Len += by
		case 3:
			r.Hash = hashOf(200)
		}
		if err := believe(h, rows, old); err == nil {
			t.Fatal("a changed plan is believed")
		}
	})
}

func TestJournalParts(t *testing.T) {
	text := format.JournalHeader{First: 7}.AppendTo(nil)
	text = format.JournalEntry{Index: 8}.AppendTo(text)
	h, err := format.DecodeJournalHeader(text)
	if err != nil || h.First != 7 {
		t.Errorf("header %+v, %v", h, err)
	}
	e, err := format.DecodeJournalEntry(text[format.JournalHeaderLen:])
	if err != nil || e.Index != 8 {
		t.Errorf("entry %+v, %v", e, err)
	}
	for n := range 8 {
		if _, err := format.DecodeJournalHeader(text[:n]); err == nil {
			t.Errorf("%d bytes are a header", n)
		}
		if _, err := format.DecodeJournalEntry(text[:n]); err == nil {
			t.Errorf("%d bytes are an entry", n)
		}
	}
	_, rows, _ := planOf()
	if got := format.JournalOffset(0, rows[0], 0, rows[0]); got != 16 {
		t.Errorf("first row at %d", got)
	}
	if got := format.JournalOffset(0, rows[0], 1, rows[1]); got != 16+10+8 {
		t.Errorf("second row at %d", got)
	}
}

// example reads a hex dump of the documentation: bytes in hex, anything behind
// a '#' is a comment.
func example(t *testing.T, name string) []byte {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/format/compaction.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "<!-- example "+name+" -->")
	if !ok {
		t.Fatalf("docs/format/compaction.md has no example of %s", name)
	}
	_, rest, _ = strings.Cut(rest, "```\n")
	dump, _, _ := strings.Cut(rest, "```")
	var digits strings.Builder
	for line := range strings.Lines(dump) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatalf("example %s: %v", name, err)
	}
	return b
}

// TestDocumentedExamples decodes the files that the documentation shows.
func TestDocumentedExamples(t *testing.T) {
	plan := example(t, "compaction-plan")
	h, err := format.DecodePlanHeader(plan)
	if err != nil {
		t.Fatal(err)
	}
	if want := (format.PlanHeader{Boundary: 3, Retained: 2, Journal: 64 << 20, OldEnd: 218}); h != want {
		t.Errorf("header %+v, want %+v", h, want)
	}
	if h.PlanLen() != int64(len(plan)) {
		t.Fatalf("plan has %d bytes, want %d", len(plan), h.PlanLen())
	}
	check := format.NewChecker(h)
	var rows []format.PlanRow
	for at := format.PlanHeaderLen; at < len(plan); at += format.PlanRowLen {
		r, err := format.DecodePlanRow(plan[at:])
		if err == nil {
			err = check.Row(r)
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if newEnd, err := check.End(); err != nil || newEnd != 146 {
		t.Errorf("new end %d, %v", newEnd, err)
	}
	if s, err := format.DecodeState(example(t, "compaction-state")); err != nil || s != (format.State{Phase: format.Move, Cursor: 1}) {
		t.Errorf("state %+v, %v", s, err)
	}
	journal := example(t, "compaction-journal")
	head, err := format.DecodeJournalHeader(journal)
	if err != nil || head.First != 1 {
		t.Errorf("journal header %+v, %v", head, err)
	}
	entry, err := format.DecodeJournalEntry(journal[format.JournalHeaderLen:])
	if err != nil || entry.Index != 1 {
		t.Errorf("journal entry %+v, %v", entry, err)
	}
	at := format.JournalOffset(1, rows[1], 1, rows[1])
	if err := record.VerifyBytes(journal[at:], rows[1].Hash); err != nil {
		t.Errorf("journaled row: %v", err)
	}
	if bytes.Count(journal, []byte("Data-Length")) != 1 {
		t.Errorf("journal %q", journal)
	}
}
