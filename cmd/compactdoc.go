package cmd

import (
	"fmt"
	"io"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/sweep/tally"
)

// countBody is a number of records, their bytes and those of their data.
type countBody struct {
	Records   uint64  `json:"records"`
	Bytes     uint64  `json:"bytes"`
	DataBytes *uint64 `json:"data_bytes,omitempty"`
}

// phaseBody is the duration of a phase.
type phaseBody struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// compactDocument is the result of compact and resume.
type compactDocument struct {
	head
	asked          bool      // for a compaction of its own, and not to resume one
	Boundary       uint64    `json:"boundary"`
	Retained       countBody `json:"retained"`
	Removed        countBody `json:"removed"`
	KeptDigest     string    `json:"kept_digest,omitempty"`
	ReleasedBytes  uint64    `json:"released_bytes"`
	Release        string    `json:"release,omitempty"`
	NotFreedReason string    `json:"not_freed_reason,omitempty"`
	NotShrunk      string    `json:"not_shrunk,omitempty"`
	MovedBytes     uint64    `json:"moved_bytes"`
	JournaledBytes uint64    `json:"journaled_bytes"`
	WrittenBytes   uint64    `json:"written_bytes"`
	// What records took of the disk.
	AllocatedBefore uint64 `json:"allocated_before_bytes"`
	AllocatedAfter  uint64 `json:"allocated_after_bytes"`
	// What the run asked for before it began, and what there was: absent when
	// nothing had to be asked, or the system does not tell.
	NeededBytes uint64        `json:"needed_bytes,omitempty"`
	FreeBytes   *int64        `json:"free_bytes,omitempty"`
	CopyOnWrite bool          `json:"copy_on_write,omitempty"`
	TrustedRows []uint64      `json:"trusted_rows,omitempty"`
	DamagedRows []uint64      `json:"damaged_rows,omitempty"`
	Phases      []phaseBody   `json:"phases"`
	Verified    *verifiedBody `json:"verified,omitempty"`
}

func newCompactDocument(command, root string) *compactDocument {
	return &compactDocument{head: newHead(command, root), asked: command == "compact", Phases: []phaseBody{}}
}

// fill takes over what the report says. t is what the sweep counted, nil
// when there was none.
func (d *compactDocument) fill(at place, r compact.Report, t *tally.Split) {
	d.Profile = at.word()
	if r.Outcome != "" {
		d.Outcome = string(r.Outcome)
	}
	d.Boundary = uint64(r.Boundary)
	d.Retained = countBody{Records: r.Retained.Records, Bytes: r.Retained.Bytes}
	d.Removed = countBody{Records: r.Removed.Records, Bytes: r.Removed.Bytes}
	if t != nil {
		d.Retained.DataBytes, d.Removed.DataBytes = &t.Retained.DataBytes, &t.Removed.DataBytes
	}
	if r.Digest != ([32]byte{}) {
		d.KeptDigest = fmt.Sprintf("%x", r.Digest)
	}
	d.ReleasedBytes, d.Release, d.NotFreedReason = r.Released, string(r.Release), r.NotFreed
	d.NotShrunk = r.Unshrunk
	d.MovedBytes, d.JournaledBytes, d.WrittenBytes = r.Moved, r.Journaled, r.Written
	d.AllocatedBefore, d.AllocatedAfter = r.AllocatedBefore, r.AllocatedAfter
	if d.NeededBytes, d.CopyOnWrite = r.Needed, r.CopyOnWrite; r.Needed > 0 && r.Free >= 0 {
		d.FreeBytes = &r.Free
	}
	d.TrustedRows, d.DamagedRows = r.TrustedRows, r.DamagedRows
	for _, p := range r.Phases {
		d.Phases = append(d.Phases, phaseBody{p.Name, p.Seconds})
	}
}

func (d *compactDocument) text(w io.Writer) {
	d.summary(w)
	if d.Verified != nil {
		fmt.Fprintf(w, "  %-9s %s records, %s, %s of them damaged\n", "verified", ui.Count(d.Verified.Records), ui.Size(d.Verified.Bytes), ui.Count(d.Verified.Bad))
	}
}

func (d *compactDocument) summary(w io.Writer) {
	switch d.Outcome {
	case outcomeNothingToDo:
		fmt.Fprintf(w, "%s: nothing to do", ui.Quote(d.Root))
		switch {
		case d.Boundary > 0:
			fmt.Fprintf(w, ", every one of its %s records is retained", ui.Count(d.Boundary))
		case d.Verified == nil:
			// A resume looks at the records only when it moves them.
			fmt.Fprint(w, "; no record was checked (lace verify does)")
		}
		fmt.Fprintln(w)
		return
	case outcomeSkipped:
		fmt.Fprintf(w, "%s: skipped, less than --min-released would be released; nothing was changed\n", ui.Quote(d.Root))
		return
	case outcomeResumed:
		fmt.Fprintf(w, "%s: the interrupted compaction is finished", ui.Quote(d.Root))
		if d.asked {
			fmt.Fprint(w, "; what was asked for now is the next run's")
		}
		fmt.Fprintln(w)
	default:
		fmt.Fprintf(w, "%s: compacted\n", ui.Quote(d.Root))
	}
	before := countBody{Records: d.Retained.Records + d.Removed.Records, Bytes: d.Retained.Bytes + d.Removed.Bytes}
	line := func(what string, c countBody) {
		fmt.Fprintf(w, "  %-9s %12s records  %s", what, ui.Count(c.Records), ui.Size(c.Bytes))
		if c.DataBytes != nil {
			fmt.Fprintf(w, ", %s of data", ui.Size(*c.DataBytes))
		}
		fmt.Fprintln(w)
	}
	line("before", before)
	line("retained", d.Retained)
	line("removed", d.Removed)
	fmt.Fprintf(w, "  %-9s %s (%s)\n", "released", ui.Size(d.ReleasedBytes), d.Release)
	if d.FreeBytes != nil {
		fmt.Fprintf(w, "  %-9s needed at most %s, %s were free\n", "space", ui.Size(d.NeededBytes), ui.Size(uint64(*d.FreeBytes)))
	}
	if d.NotFreedReason != "" {
		fmt.Fprintf(w, "  %-9s %s\n", "note", d.NotFreedReason)
	}
	if d.NotShrunk != "" {
		fmt.Fprintf(w, "  %-9s %s\n", "note", d.NotShrunk)
	}
	if len(d.DamagedRows) > 0 {
		fmt.Fprintf(w, "  %-9s %d records were damaged before, and moved as they are; lace verify lists them\n", "note", len(d.DamagedRows))
	}
	if len(d.TrustedRows) > 0 {
		fmt.Fprintf(w, "  %-9s %d records were found only at their new place, and were written again\n", "note", len(d.TrustedRows))
	}
	fmt.Fprintf(w, "  %-9s moved %s, journaled %s, wrote %s\n", "work", ui.Size(d.MovedBytes), ui.Size(d.JournaledBytes), ui.Size(d.WrittenBytes))
	fmt.Fprintf(w, "  %-9s", "time")
	for i, p := range d.Phases {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, " %s %.2f s", p.Name, p.Seconds)
	}
	fmt.Fprintln(w)
}
