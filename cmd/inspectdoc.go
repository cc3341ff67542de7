package cmd

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// compactionBody is how far an interrupted compaction came. What only a plan
// that was checked can tell is absent when the root is open elsewhere.
type compactionBody struct {
	Phase     string   `json:"phase"`
	Cursor    uint64   `json:"cursor"`
	Rows      uint64   `json:"rows"`
	Percent   *float64 `json:"percent,omitempty"`
	BytesLeft *uint64  `json:"bytes_left,omitempty"`
	Published *bool    `json:"published,omitempty"`
}

func (c *compactionBody) left() string {
	if c.Percent == nil || c.BytesLeft == nil {
		return ""
	}
	return fmt.Sprintf(", %.1f%%, %s left to move", *c.Percent, ui.Size(*c.BytesLeft))
}

type inspectDocument struct {
	head
	State          string          `json:"state,omitempty"`
	WithoutLock    bool            `json:"read_without_lock,omitempty"` // it may have changed since
	Records        uint64          `json:"records"`
	Bytes          *uint64         `json:"bytes,omitempty"` // absent when it cannot be told
	CapacityBytes  uint64          `json:"capacity_bytes"`
	AllocatedBytes uint64          `json:"allocated_bytes"`
	HighWater      uint64          `json:"high_water"`
	TornBytes      uint64          `json:"torn_bytes,omitempty"`
	FSType         string          `json:"fs_type,omitempty"`
	FreeBytes      *int64          `json:"free_bytes,omitempty"`
	FreeInodes     *int64          `json:"free_inodes,omitempty"`
	ReadOnly       bool            `json:"read_only"`
	Compaction     *compactionBody `json:"compaction,omitempty"`
	Step           string          `json:"step,omitempty"`
	Leftovers      []string        `json:"leftovers"`
	Problem        string          `json:"problem,omitempty"`
	Plan           *planBody       `json:"plan,omitempty"`
	Indexes        []listsBody     `json:"indexes,omitempty"`
	Locks          []lockBody      `json:"locks,omitempty"`
	NextCommand    string          `json:"next_command"`
	space          vfs.Space
	list           *recordList // nil: not asked for
}

// residueNote is how many bytes behind the last record inspect mentions.
const residueNote = 1 << 20

// behind is how many bytes are allocated behind the last record.
func (d *inspectDocument) behind() uint64 {
	if d.State != stateHealthy || d.Bytes == nil {
		return 0
	}
	return d.AllocatedBytes - min(d.AllocatedBytes, *d.Bytes)
}

var _ ui.Streamed = (*inspectDocument)(nil)

// Stream implements ui.Streamed: the list is the last field.
func (d *inspectDocument) Stream() (field string, items iter.Seq[any]) {
	return "record_list", d.list.stream()
}

func (d *inspectDocument) text(w io.Writer) {
	fmt.Fprintf(w, "%s: a %s root, %s\n", ui.Quote(d.Root), d.Profile, d.State)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	if d.Bytes != nil {
		line("records", "%s, %s", ui.Count(d.Records), ui.Size(*d.Bytes))
	} else {
		line("records", "%s, bytes unknown", ui.Count(d.Records))
	}
	line("arena", "%s allocated, capacity %s", ui.Size(d.AllocatedBytes), ui.Size(d.CapacityBytes))
	line("disk", "%s, %s%s", fsName(d.space), freeText(d.space), map[bool]string{true: ", mounted read-only"}[d.ReadOnly])
	if d.TornBytes > 0 {
		line("torn row", "%d bytes of a row that was never admitted; the next writer cuts them off", d.TornBytes)
	}
	if behind := d.behind(); behind > residueNote {
		line("behind", "%s allocated behind the last record: residue of failed writes, or record-log lost rows", ui.Size(behind))
	}
	if c := d.Compaction; c != nil {
		line("compaction", "phase %s, row %s of %s%s", c.Phase, ui.Count(c.Cursor), ui.Count(c.Rows), c.left())
	}
	if d.Step != "" {
		line("step", "%s", stepText(d.Step))
	}
	d.details(line)
	if len(d.Leftovers) > 0 {
		line("files", "%s", strings.Join(d.Leftovers, ", "))
	}
	if d.Problem != "" {
		line("problem", "%s", ui.OneLine(d.Problem))
	}
	d.list.text(w)
	line("next", "%s", ui.OneLine(d.NextCommand))
}
