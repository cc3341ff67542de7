package cmd

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// logSettings says which settings of the run are not the usual ones. Where a
// value came from is what lace config prints.
func (s *session) logSettings(c *cobra.Command) {
	if !s.log.Verbose() {
		return
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains([]string{"verbose", "help"}, f.Name) {
			s.log.Detailf("setting --%s %s", f.Name, ui.Quote(f.Value.String()))
		}
	})
}

// logPlace says what the root is and what lies below it.
func (s *session) logPlace(at place) {
	if !s.log.Verbose() {
		return
	}
	space, err := s.fs.Space(at.dir)
	if err != nil {
		s.log.Detailf("root %s: profile %s; its file system does not say what it is: %v", ui.Quote(at.dir), at.word(), err)
		return
	}
	s.log.Detailf("root %s: profile %s, on %s, %s", ui.Quote(at.dir), at.word(), fsName(space), freeText(space))
	if space.CopyOnWrite {
		s.log.Detailf("%s writes copies: an overwrite takes space, and a snapshot keeps what is released", fsName(space))
	}
	if space.ReadOnly {
		s.log.Detailf("the file system is mounted read-only")
	}
}

func fsName(space vfs.Space) string {
	if space.FSType == "" {
		return "an unknown file system"
	}
	return space.FSType
}

// freeText says what is free, as far as the system tells.
func freeText(space vfs.Space) string {
	text := "free bytes unknown"
	if space.FreeBytes >= 0 {
		text = ui.Size(uint64(space.FreeBytes)) + " free"
	}
	if space.FreeInodes >= 0 {
		text += ", " + ui.Count(uint64(space.FreeInodes)) + " inodes free"
	}
	return text
}

// logPolicies says what a run evaluates.
func (s *session) logPolicies(p *policy.Prepared) {
	for _, m := range p.Modules {
		s.log.Detailf("policy %s: %s, digest %x", ui.Quote(m.File), plural(len(m.Program.Rules), "rule"), m.Digest)
	}
}

// loggingPlan tells the plan before it is judged.
func (s *session) loggingPlan(approve func(*compact.Plan) error) func(*compact.Plan) error {
	return func(p *compact.Plan) error {
		s.logPlan(p)
		return approve(p)
	}
}

// logPlan says what a compaction is about to do, and which space it needs.
func (s *session) logPlan(p *compact.Plan) {
	s.log.Detailf("plan: %s records stay, %s go, %s move; kept digest %x", ui.Count(p.Retained.Records), ui.Count(p.Removed.Records), ui.Size(p.Moved), p.Digest)
	s.log.Detailf("space: the plan, a journal and the new record-log need %s", ui.Size(p.Need()))
}
