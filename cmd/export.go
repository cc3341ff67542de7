package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/mmap"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// exportOptions are the flags of lace export.
type exportOptions struct {
	keep   keepOptions
	lock   lockOptions
	output string
}

func newExportCommand(s *session) *cobra.Command {
	o := &exportOptions{}
	c := &cobra.Command{
		Use:   "export ROOT [--policy FILE... | --kept FILE]",
		Short: "Write records as a stream that admit takes",
		Long: `Export writes the records of ROOT one directly behind the other, in the order
of their admission, to stdout or to a new file: what lace admit reads. With
policies, configured ones included, or a kept file it writes only what they
retain, and says how much that is. The full hash of every record is checked
before it is written; a damaged one ends the export with exit code 13. A file
has its name only once it is complete. ROOT is not changed.`,
		Example: `  lace export /srv/lace | lace admit /srv/copy --create
  lace export /srv/lace --policy keep.lace --output kept.records`,
		Args: rooted,
		RunE: func(c *cobra.Command, args []string) error {
			doc := &exportDocument{head: newHead("export", args[0])}
			return o.emit(s, doc, o.run(c.Context(), s, doc))
		},
	}
	o.keep.addFlags(c)
	o.lock.addFlags(c)
	c.Flags().StringVarP(&o.output, "output", "o", "", "write to this new `FILE` instead of stdout")
	return c
}

type exportDocument struct {
	head
	Boundary uint64    `json:"boundary"`
	Exported countBody `json:"exported"`
}

func (d *exportDocument) text(w io.Writer) {
	fmt.Fprintln(w, d.summary())
}

func (d *exportDocument) summary() string {
	return fmt.Sprintf("%s: exported %s of %s records, %s", ui.Quote(d.Root), ui.Count(d.Exported.Records), ui.Count(d.Boundary), ui.Size(d.Exported.Bytes))
}

// emit puts the summary where the records are not: a stream that policies made
// shorter must not be taken for the whole root.
func (o *exportOptions) emit(s *session, doc *exportDocument, err error) error {
	if o.output != "" {
		return s.emit(doc, err)
	}
	err = s.emit(nil, err)
	if err == nil {
		s.log.Infof("%s", doc.summary())
	}
	return err
}

func (o *exportOptions) validate(s *session) error {
	switch {
	case o.output == "" && s.global.json:
		return &usageError{errors.New("--json and the records cannot both go to stdout: say --output FILE")}
	case o.output == "" && ui.IsTerminal(s.streams.Out):
		return &usageError{errors.New("the records are binary and stdout is a terminal: say --output FILE, or pipe them")}
	}
	return nil
}

func (o *exportOptions) run(ctx context.Context, s *session, doc *exportDocument) (err error) {
	if err := o.validate(s); err != nil {
		return err
	}
	e := &export{ctx: ctx, s: s, doc: doc}
	if o.keep.given() {
		if e.keeper, err = o.keep.open(s, doc.Root); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, e.keeper.close()) }()
	}
	at, err := s.locate(doc.Root, o.lock)
	if err != nil {
		return err
	}
	if err := o.checkPlace(s.fs, at.dir); err != nil {
		return err
	}
	open := o.lock.openOptions(s)
	open.ReadOnly = true
	b, err := at.profile.Open(ctx, at.dir, open)
	if err != nil {
		return err
	}
	doc.Profile, doc.Boundary = at.word(), uint64(b.Position())
	e.store = b
	return errors.Join(o.write(e), b.Close())
}

// checkPlace refuses a file in the root dir, and one that is there already.
func (o *exportOptions) checkPlace(fsys vfs.FS, dir string) error {
	if o.output == "" {
		return nil
	}
	if err := outside(dir, o.output); err != nil {
		return err
	}
	_, err := fsys.Stat(o.output)
	switch {
	case err == nil:
		return fmt.Errorf("--output %s: %w; nothing is overwritten", ui.Quote(o.output), fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--output %s: %w", ui.Quote(o.output), err)
	}
	return nil
}

// write exports to stdout, or to a file that has its name only once it is
// complete and durable: a part of a stream would read like a complete one.
func (o *exportOptions) write(e *export) error {
	if o.output != "" {
		return vfs.Replace(e.s.fs, filepath.Dir(o.output), filepath.Base(o.output), e.to)
	}
	err := e.to(e.s.streams.Out)
	if errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("stdout was closed after %d of the records: %w", e.doc.Exported.Records, err)
	}
	return err
}

// export is one run.
type export struct {
	ctx    context.Context
	s      *session
	doc    *exportDocument
	store  profile.Store
	keeper *keeper // nil keeps all
	buf    []byte
}

// exportBuffer is how much is written at a time, in bytes.
const exportBuffer = 1 << 20

// to writes the chosen records, in order.
func (e *export) to(w io.Writer) error {
	boundary := e.store.Position()
	has := func(store.RecordID) bool { return true }
	if e.keeper != nil {
		var set *kept.Set
		err := mmap.Guard(func() (err error) {
			set, _, err = e.keeper.decide(e.ctx, e.store)
			return err
		})
		if err != nil {
			return err
		}
		has = set.Has
	}
	out := bufio.NewWriterSize(w, exportBuffer)
	verifier := record.NewVerifier(record.Hash{})
	for i := range uint64(boundary) {
		if err := e.ctx.Err(); err != nil {
			return &store.Error{Kind: store.Interrupted, Doing: "export", Root: e.doc.Root, Found: fmt.Sprintf("stopped before record #%d", idOf(i)), Err: err}
		}
		if i%256 == 0 {
			e.s.progress.Update("export", i, uint64(boundary), "records")
		}
		if !has(idOf(i)) {
			continue
		}
		b, err := e.load(verifier, idOf(i))
		if err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
		e.doc.Exported.Records++
		e.doc.Exported.Bytes += uint64(len(b))
	}
	e.s.progress.Update("export", uint64(boundary), uint64(boundary), "records")
	return out.Flush()
}

// load reads one record and proves its hash. It is valid until the next call.
func (e *export) load(verifier *record.Verifier, id store.RecordID) ([]byte, error) {
	row, err := e.store.Row(id)
	if err != nil {
		return nil, err
	}
	fail := func(kind store.Kind, err error) error {
		return &store.Error{Kind: kind, Doing: "export", Root: e.doc.Root, ID: id, Hash: row.Hash, Err: err, Hint: "lace verify " + e.doc.Root}
	}
	if row.Len > record.MaxRecordLen {
		return nil, fail(store.CorruptStore, fmt.Errorf("%d bytes, no record has more than %d", row.Len, record.MaxRecordLen))
	}
	if uint64(cap(e.buf)) < row.Len {
		e.buf = make([]byte, row.Len)
	}
	b := e.buf[:row.Len]
	if _, err := e.store.Arena().ReadAt(b, int64(row.Offset)); err != nil {
		return nil, fail(store.Store, err)
	}
	verifier.Reset(row.Hash)
	verifier.Write(b) // it never fails
	if err := verifier.Check(); err != nil {
		return nil, fail(store.CorruptStore, err)
	}
	return b, nil
}
