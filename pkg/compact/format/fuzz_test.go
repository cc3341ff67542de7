package format_test

import (
	"bytes"
	"testing"

	"github.com/lace-store/lace/pkg/compact/format"
)

// FuzzState: no panic, and what is read is written the same.
func FuzzState(f *testing.F) {
	for _, s := range []string{"move 0\n", "reload 18446744073709551615\n", "move 01\n", "move 1", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := format.DecodeState(b)
		if err != nil {
			return
		}
		if got := s.AppendTo(nil); !bytes.Equal(got, b) {
			t.Errorf("%q is written %q", b, got)
		}
	})
}

// FuzzPlan: no panic; a plan that the checks accept is written the same, moves
// no row up, and none over the source of a later one.
func FuzzPlan(f *testing.F) {
	h, rows, _ := planOf()
	b := h.AppendTo(nil)
	for _, r := range rows {
		b = r.AppendTo(b)
	}
	f.Add(b)
	f.Add(b[:100])
	f.Add(format.PlanHeader{}.AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := format.DecodePlanHeader(b)
		if err != nil || h.PlanLen() != int64(len(b)) {
			return
		}
		again := h.AppendTo(nil)
		check := format.NewChecker(h)
		end := uint64(0)
		for at := format.PlanHeaderLen; at < len(b); at += format.PlanRowLen {
			r, err := format.DecodePlanRow(b[at:])
			if err == nil {
				err = check.Row(r)
			}
			if err != nil {
				return
			}
			if r.OffsetNew > r.OffsetOld || r.OffsetOld < end || r.EndOld() > h.OldEnd || r.EndOld() < r.OffsetOld {
				t.Errorf("accepted %+v behind %d", r, end)
			}
			end = r.EndOld()
			if checked, err := format.DecodeCheckedPlanRow(b[at:]); err != nil || checked != r {
				t.Errorf("read again: %+v, %v", checked, err)
			}
			again = r.AppendTo(again)
		}
		if newEnd, err := check.End(); err == nil && (newEnd > h.OldEnd || !bytes.Equal(again, b)) {
			t.Errorf("new end %d, written again %x", newEnd, again)
		}
	})
}

// FuzzJournal: no panic, and the numbers come back.
func FuzzJournal(f *testing.F) {
	f.Add(format.JournalEntry{Index: 3}.AppendTo(format.JournalHeader{First: 3}.AppendTo(nil)))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := format.DecodeJournalHeader(b)
		if err != nil {
			return
		}
		again := h.AppendTo(nil)
		if e, err := format.DecodeJournalEntry(b[format.JournalHeaderLen:]); err == nil {
			again = e.AppendTo(again)
		}
		if !bytes.HasPrefix(b, again) {
			t.Errorf("%x is written %x", b, again)
		}
	})
}
