package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// inspectOptions are the flags of lace inspect.
type inspectOptions struct {
	lock       lockOptions
	bytes      bool
	compaction bool
	indexes    bool
	locks      bool
	records    bool
}

func newInspectCommand(s *session) *cobra.Command {
	o := &inspectOptions{}
	c := &cobra.Command{
		Use:   "inspect ROOT [RECORD]",
		Short: "What this root is and what state it is in; one record",
		Long: `Inspect says what ROOT is, in every state: healthy, with an interrupted
compaction, damaged, or open elsewhere. It ends with the next command to type.
With a RECORD, its hash or #id, it prints what is known of that record. It
writes nothing. Of a root that is open elsewhere it says what can be read
without the lock.`,
		Example: "  lace inspect /srv/lace\n  lace inspect /srv/lace '#12'",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return &usageError{fmt.Errorf("%s takes a ROOT and at most one RECORD, got %d arguments", c.CommandPath(), len(args))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.validate(s, len(args) == 2); err != nil {
				return s.emit(&inspectDocument{head: newHead("inspect", args[0]), Leftovers: []string{}}, err)
			}
			if len(args) == 2 {
				return o.record(c.Context(), s, args[0], args[1])
			}
			doc, err := o.root(c.Context(), s, args[0])
			return s.emit(doc, err)
		},
	}
	o.lock.addFlags(c)
	c.Flags().BoolVar(&o.bytes, "bytes", false, "with a RECORD: write its bytes to stdout, and nothing else")
	c.Flags().BoolVar(&o.compaction, "compaction", false, "say what an interrupted compaction has planned and done")
	c.Flags().BoolVar(&o.indexes, "indexes", false, "count the posting lists")
	c.Flags().BoolVar(&o.locks, "locks", false, "say which locks are held, and by whom where the system tells")
	c.Flags().BoolVar(&o.records, "records", false, "list the records, a line each")
	return c
}

func (o *inspectOptions) validate(s *session, oneRecord bool) error {
	switch {
	case o.bytes && !oneRecord:
		return &usageError{errors.New("--bytes goes with a RECORD (lace export writes all)")}
	case o.bytes && s.global.json:
		return &usageError{errors.New("--json and the bytes of a record cannot both go to stdout")}
	case oneRecord && (o.compaction || o.indexes || o.locks || o.records):
		return &usageError{errors.New("--compaction, --indexes, --locks and --records are about a root, not about a RECORD")}
	}
	return nil
}
