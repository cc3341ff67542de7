package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/record/mark"
)

// admitBatch bounds how many staged records are stored at a time.
const (
	admitBatchRecords = 256
	admitBatchBytes   = 64 << 20
)

// admitOptions are the flags of lace admit.
type admitOptions struct {
	lock     lockOptions
	create   bool
	profile  string
	capacity sizeFlag
	wrap     bool
	group    string
	app      string
}

func newAdmitCommand(s *session) *cobra.Command {
	o := &admitOptions{}
	c := &cobra.Command{
		Use:   "admit ROOT [FILE...]",
		Short: "Admit records, or wrap plain files as records",
		Long: `Admit reads records, one directly behind the other, from the files or from
stdin, checks every rule, digest and mark, and admits what ROOT does not have.
With --wrap each file becomes the data of a Plex record whose Name is its path.
A root is made only with --create.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 {
				return &usageError{fmt.Errorf("%s takes a ROOT", c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			doc, err := o.run(c.Context(), s, args[0], args[1:])
			return s.emit(doc, err)
		},
	}
	o.lock.addFlags(c)
	c.Flags().BoolVar(&o.create, "create", false, "make the root when it is absent")
	c.Flags().StringVar(&o.profile, "profile", "", "with --create: the profile of a new root, one of "+strings.Join(profileWords(), ", ")+" (default "+profileWords()[0]+")")
	c.Flags().Var(&o.capacity, "capacity", "with --create: the capacity of a new root (0: the standard)")
	c.Flags().BoolVar(&o.wrap, "wrap", false, "wrap plain files as Plex records")
	c.Flags().StringVar(&o.group, "group", "", "with --wrap: the Group of the records")
	c.Flags().StringVar(&o.app, "app", "", "with --wrap: the App of the records")
	return c
}

type admitDocument struct {
	head
	Admitted   countBody `json:"admitted"`
	Duplicates countBody `json:"duplicates"`
	HighWater  uint64    `json:"high_water"`
}

func (d *admitDocument) text(w io.Writer) {
	fmt.Fprintf(w, "%s: admitted %s records, %s; %s were there already; high-water %s\n",
		ui.Quote(d.Root), ui.Count(d.Admitted.Records), ui.Size(d.Admitted.Bytes), ui.Count(d.Duplicates.Records), ui.Count(d.HighWater))
}

func (o *admitOptions) validate(files []string) error {
	switch {
	case o.wrap && (o.group == "" || o.app == ""):
		return &usageError{errors.New("--wrap needs --group and --app")}
	case o.wrap && len(files) == 0:
		return &usageError{errors.New("--wrap needs files: a record is named after its path")}
	case !o.wrap && (o.group != "" || o.app != ""):
		return &usageError{errors.New("--group and --app go with --wrap")}
	case o.capacity.bytes != 0 && !o.create:
		return &usageError{errors.New("--capacity goes with --create")}
	case o.profile != "" && !o.create:
		return &usageError{errors.New("--profile goes with --create")}
	}
	return nil
}

func (o *admitOptions) run(ctx context.Context, s *session, name string, files []string) (document, error) {
	doc := &admitDocument{head: newHead("admit", name)}
	if err := o.validate(files); err != nil {
		return doc, err
	}
	b, at, err := o.open(ctx, s, name)
	if err != nil {
		return doc, err
	}
	doc.Profile = at.word()
	s.progress.Enter("admit")
	in := &admission{ctx: ctx, s: s, store: b, doc: doc}
	if o.wrap {
		err = in.wrapAll(files, o.group, o.app)
	} else {
		err = in.streamAll(files)
	}
	doc.HighWater = uint64(b.Position())
	return doc, errors.Join(err, b.Close())
}

func (o *admitOptions) open(ctx context.Context, s *session, name string) (profile.Store, place, error) {
	open := o.lock.openOptions(s)
	if !o.create {
		at, err := s.locate(name, o.lock)
		if err != nil {
			return nil, at, err
		}
		b, err := at.profile.Open(ctx, at.dir, open)
		return b, at, err
	}
	parent, err := s.resolveRoot(filepath.Dir(filepath.Clean(name)), o.lock)
	if err != nil {
		return nil, place{}, err
	}
	at, err := s.placeToCreate(filepath.Join(parent, filepath.Base(name)), o.profile)
	if err != nil {
		return nil, at, err
	}
	open.Capacity, open.LookupEnv = o.capacity.bytes, os.LookupEnv
	b, err := at.profile.Create(ctx, at.dir, open)
	if errors.Is(err, store.Integration) { // the capacity is the user's choice
		err = &usageError{err}
	}
	return b, at, err
}

// admission gathers staged records into batches.
type admission struct {
	ctx    context.Context
	s      *session
	store  profile.Store
	doc    *admitDocument
	staged []profile.Staged
	bytes  uint64
}

// streamAll admits the records of every file, or of stdin.
func (a *admission) streamAll(files []string) error {
	if len(files) == 0 {
		return errors.Join(a.stream("stdin", a.s.streams.In), a.flush())
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return errors.Join(&usageError{err}, a.flush())
		}
		if err := errors.Join(a.stream(name, f), f.Close()); err != nil {
			return errors.Join(err, a.flush())
		}
	}
	return a.flush()
}

// stream cuts one stream into records, and stages and checks each.
func (a *admission) stream(name string, r io.Reader) error {
	scan := record.NewScanner(r)
	for {
		if err := a.ctx.Err(); err != nil {
			return a.stopped(err)
		}
		item, err := scan.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return a.badInput(name, err)
		}
		if item.Hash().Kind() == record.Seal {
			if err := mark.VerifySeal(item.Head()); err != nil {
				return a.badInput(name, fmt.Errorf("record at byte %d: %w", item.Offset(), err))
			}
		}
		staged, err := a.store.Stage(item.Hash(), uint64(item.Len()), item)
		var format *record.FormatError
		if errors.As(err, &format) || stoppedReading(err) {
			return a.badInput(name, err)
		}
		if err != nil {
			return err
		}
		if err := a.add(staged); err != nil {
			return err
		}
	}
}

func (a *admission) stopped(err error) error {
	return &store.Error{Kind: store.Interrupted, Doing: "admit", Root: a.doc.Root, Found: "stopped; what was admitted so far stays", Err: err, Hint: "admit the same again; what is there already is not admitted twice"}
}

// badInput is the error of a stream that is not one of records, or cannot be
// read. A request to stop may have ended the reading.
func (a *admission) badInput(name string, err error) error {
	if stoppedReading(err) {
		return a.stopped(err)
	}
	return &usageError{fmt.Errorf("admit %s: %w", ui.Quote(name), err)}
}

func (a *admission) add(staged profile.Staged) error {
	a.staged = append(a.staged, staged)
	a.bytes += staged.Record().Len
	if len(a.staged) < admitBatchRecords && a.bytes < admitBatchBytes {
		return nil
	}
	return a.flush()
}

// flush stores the gathered records in one transaction and removes their
// staging files.
func (a *admission) flush() error {
	if len(a.staged) == 0 {
		return nil
	}
	staged := a.staged
	a.staged, a.bytes = nil, 0
	records := make([]store.NewRecord, len(staged))
	for i, t := range staged {
		records[i] = t.Record()
	}
	result, err := a.store.Execute(store.StoreRecords{Records: records})
	if stored, ok := result.(store.StoredResult); ok {
		for i, outcome := range stored.Outcomes {
			into := &a.doc.Admitted
			if outcome.Duplicate {
				into = &a.doc.Duplicates
			}
			into.Records++
			into.Bytes += records[i].Len
		}
	}
	for _, t := range staged {
		err = errors.Join(err, t.Release())
	}
	return err
}
