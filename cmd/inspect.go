package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
)

// inspectOptions are the flags of lace inspect.
type inspectOptions struct {
	lock  lockOptions
	bytes bool
}

func newInspectCommand(s *session) *cobra.Command {
	o := &inspectOptions{}
	c := &cobra.Command{
		Use:   "inspect ROOT [RECORD]",
		Short: "What this root is and what state it is in; one record",
		Long: `Inspect says what ROOT is, in every state: healthy, with an interrupted
compaction, damaged, or open elsewhere. It ends with the next command to type.
With a RECORD, its hash or #id, it prints what is known of that record. It
writes nothing.`,
		Example: "  lace inspect /srv/lace\n  lace inspect /srv/lace '#12'",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return &usageError{fmt.Errorf("%s takes a ROOT and at most one RECORD, got %d arguments", c.CommandPath(), len(args))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return o.record(c.Context(), s, args[0], args[1])
			}
			doc, err := o.root(c.Context(), s, args[0])
			return s.emit(doc, err)
		},
	}
	o.lock.addFlags(c)
	c.Flags().BoolVar(&o.bytes, "bytes", false, "with a RECORD: write its bytes to stdout, and nothing else")
	return c
}

// compactionBody is how far an interrupted compaction came.
type compactionBody struct {
	Phase     string  `json:"phase"`
	Cursor    uint64  `json:"cursor"`
	Rows      uint64  `json:"rows"`
	Percent   float64 `json:"percent"`
	BytesLeft uint64  `json:"bytes_left"`
	Published bool    `json:"published"`
}

type inspectDocument struct {
	head
	State          string          `json:"state"`
	Records        uint64          `json:"records"`
	Bytes          uint64          `json:"bytes"`
	CapacityBytes  uint64          `json:"capacity_bytes"`
	AllocatedBytes uint64          `json:"allocated_bytes"`
	HighWater      uint64          `json:"high_water"`
	TornBytes      uint64          `json:"torn_bytes,omitempty"`
	FSType         string          `json:"fs_type,omitempty"`
	FreeBytes      int64           `json:"free_bytes"`
	Compaction     *compactionBody `json:"compaction,omitempty"`
	Leftovers      []string        `json:"leftovers"`
	Problem        string          `json:"problem,omitempty"`
	NextCommand    string          `json:"next_command"`
}

// residueNote is how many bytes behind the last record inspect mentions.
const residueNote = 1 << 20

// The states of a root.
const (
	stateHealthy     = "healthy"
	stateInterrupted = "interrupted"
	stateDamaged     = "damaged"
	stateBusy        = "busy"
)

func (o *inspectOptions) root(ctx context.Context, s *session, name string) (document, error) {
	doc := &inspectDocument{head: newHead("inspect", name), Leftovers: []string{}}
	at, err := s.locate(name, o.lock)
	if err != nil {
		return doc, err
	}
	x, err := at.examine(ctx, o.lock.openOptions(s))
	switch {
	case errors.Is(err, store.Busy):
		doc.State, doc.Problem = stateBusy, err.Error()
		doc.NextCommand = "wait, then lace inspect " + name
	case errors.Is(err, store.CorruptStore):
		doc.State, doc.Problem = stateDamaged, err.Error()
		doc.NextCommand = "restore the root from a backup"
	case err != nil:
		return doc, err
	default:
		doc.describe(name, x)
		if err := x.Close(); err != nil {
			return doc, err
		}
	}
	doc.Profile = at.word()
	return doc, doc.measure(s, at.dir)
}

// describe takes over what the examination found.
func (d *inspectDocument) describe(name string, x profile.Examination) {
	d.State, d.NextCommand = stateHealthy, "lace sweep "+name+" --policy FILE --dry-run"
	d.Records, d.HighWater = uint64(x.Table().Position()), uint64(x.Table().Position())
	d.Bytes, d.TornBytes = x.Table().End(), x.TornBytes()
	if x.Files().State {
		d.State, d.NextCommand = stateInterrupted, "lace resume "+name
		status, err := x.Status()
		if err != nil {
			d.State, d.Problem = stateDamaged, err.Error()
			d.NextCommand = "lace verify " + name
			return
		}
		d.Compaction = &compactionBody{
			Phase: string(status.State.Phase), Cursor: uint64(status.State.Cursor), Rows: status.Header.Retained,
			Percent: status.Percent, BytesLeft: status.Summary.Moved - status.BytesDone, Published: status.Summary.Published,
		}
	} else if x.Files().Any() {
		d.State, d.NextCommand = stateInterrupted, "lace resume "+name
	}
}

// measure adds what can be seen without owning the root.
func (d *inspectDocument) measure(s *session, dir string) error {
	files, err := compact.Look(s.fs, dir)
	if err != nil {
		return err
	}
	d.Leftovers = append(d.Leftovers, files.Names()...)
	if info, err := s.fs.Stat(filepath.Join(dir, root.Records)); err == nil {
		d.CapacityBytes, d.AllocatedBytes = uint64(info.Size), uint64(max(info.Allocated, 0))
	}
	if info, err := s.fs.Stat(filepath.Join(dir, root.RecordLog)); err == nil && d.State == stateBusy {
		d.HighWater = uint64(info.Size) / rowlog.RowLen
		d.Records = d.HighWater
	}
	space, err := s.fs.Space(dir)
	if err != nil {
		return &store.Error{Kind: store.Store, Doing: "measure the file system of", Root: dir, Err: err}
	}
	d.FSType, d.FreeBytes = space.FSType, space.FreeBytes
	return nil
}

func (d *inspectDocument) text(w io.Writer) {
	fmt.Fprintf(w, "%s: a %s root, %s\n", ui.Quote(d.Root), d.Profile, d.State)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("records", "%s, %s", ui.Count(d.Records), ui.Size(d.Bytes))
	line("arena", "%s allocated, capacity %s", ui.Size(d.AllocatedBytes), ui.Size(d.CapacityBytes))
	if d.FreeBytes >= 0 {
		line("free", "%s on %s", ui.Size(uint64(d.FreeBytes)), d.FSType)
	}
	if d.TornBytes > 0 {
		line("torn row", "%d bytes of a row that was never admitted; the next writer cuts them off", d.TornBytes)
	}
	if behind := d.AllocatedBytes - min(d.AllocatedBytes, d.Bytes); d.State == stateHealthy && behind > residueNote {
		line("behind", "%s allocated behind the last record: residue of failed writes, or record-log lost rows", ui.Size(behind))
	}
	if c := d.Compaction; c != nil {
		line("compaction", "phase %s, row %s of %s, %.1f%%, %s left to move", c.Phase, ui.Count(c.Cursor), ui.Count(c.Rows), c.Percent, ui.Size(c.BytesLeft))
	}
	if len(d.Leftovers) > 0 {
		line("files", "%s", strings.Join(d.Leftovers, ", "))
	}
	if d.Problem != "" {
		line("problem", "%s", ui.OneLine(d.Problem))
	}
	line("next", "%s", ui.OneLine(d.NextCommand))
}
