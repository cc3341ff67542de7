package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/policy/syntax"
	"github.com/lace-store/lace/pkg/sweep"
)

// policyOptions are the flags that name policies and bound the sweep.
type policyOptions struct {
	files           []string
	params          []string
	windowRecords   uint64
	maxRelationRows uint64
	jobs            int
}

func (o *policyOptions) addFlags(c *cobra.Command) {
	c.Flags().StringArrayVarP(&o.files, "policy", "p", nil, "read a policy from this `file` (- is stdin); repeat for a union")
	c.Flags().StringArrayVar(&o.params, "param", nil, "`NAME=VALUE` for Param(NAME, ...); tai:now, tai:-90d and tai:<RFC 3339> become TAI text")
	c.Flags().Uint64Var(&o.windowRecords, "window-records", 0, "records decided at a time (0: the standard 1048576)")
	c.Flags().Uint64Var(&o.maxRelationRows, "max-relation-rows", 0, "derived rows a relation may have (0: the standard 1048576)")
	c.Flags().IntVar(&o.jobs, "jobs", 0, "windows and policies evaluated at a time, which memory grows with (0: one per processor)")
}

// evaluationFlags are those of addFlags that bound the evaluation of policies,
// and so say nothing where a file says what is kept.
func evaluationFlags() []string { return []string{"window-records", "max-relation-rows", "jobs"} }

// evaluation lists the flags of evaluationFlags that were given.
func (o *policyOptions) evaluation() []string {
	given := []bool{o.windowRecords != 0, o.maxRelationRows != 0, o.jobs != 0}
	var names []string
	for i, name := range evaluationFlags() {
		if given[i] {
			names = append(names, "--"+name)
		}
	}
	return names
}

// prepare reads and checks the policies. Warnings go to stderr.
func (o *policyOptions) prepare(s *session) (*policy.Prepared, error) {
	if len(o.files) == 0 {
		return nil, &usageError{fmt.Errorf("no policy: name at least one with --policy FILE")}
	}
	if err := o.checkLimits(); err != nil {
		return nil, &usageError{err}
	}
	params, err := parseParams(o.params, s)
	if err != nil {
		return nil, &usageError{err}
	}
	sources, err := s.readPolicies(o.files)
	if err != nil {
		return nil, err
	}
	prepared, err := preparePolicies(sources, params)
	if err != nil {
		return nil, err
	}
	s.warn(prepared.Warnings)
	s.logPolicies(prepared)
	return prepared, nil
}

// checkLimits refuses, by the names of the flags, what the sweep would refuse.
func (o *policyOptions) checkLimits() error {
	if err := checkJobs(o.jobs, sweep.MostJobs); err != nil {
		return err
	}
	if o.maxRelationRows > sweep.MostRelationRows {
		return fmt.Errorf("--max-relation-rows %d: want at most %d", o.maxRelationRows, uint64(sweep.MostRelationRows))
	}
	return nil
}

// checkJobs bounds --jobs, since memory is set aside for each of them.
func checkJobs(jobs, most int) error {
	if jobs < 0 || jobs > most {
		return fmt.Errorf("--jobs %d: want a number from 0 to %d", jobs, most)
	}
	return nil
}

// preparePolicies checks policies as a run does. The error is a *policyError.
func preparePolicies(sources []policy.Source, params map[string]string) (*policy.Prepared, error) {
	prepared, err := policy.Prepare(sources, params)
	if err != nil {
		return nil, newPolicyError(err)
	}
	return prepared, nil
}

// warn writes what is doubtful about policies to stderr, a line each.
func (s *session) warn(warnings syntax.List) {
	for _, w := range warnings {
		s.log.Warnf("%s", w.Error())
	}
}

// stdinName is how a run names the standard input among files.
const stdinName = "-"

// readPolicies reads policy files, in their order. Standard input can be read
// once only: a second "-" would be an empty policy, so it is refused.
func (s *session) readPolicies(files []string) ([]policy.Source, error) {
	var sources []policy.Source
	stdinRead := false
	for _, name := range files {
		if name == stdinName {
			if stdinRead {
				return nil, &usageError{errors.New("standard input (-) is named twice as a policy; it can be read once")}
			}
			stdinRead = true
		}
		text, err := s.readPolicy(name)
		if stoppedReading(err) {
			return nil, errStoppedInput(displayName(name), err)
		}
		if err != nil {
			return nil, &usageError{fmt.Errorf("policy %s: %w", ui.Quote(name), err)}
		}
		sources = append(sources, policy.Source{Name: displayName(name), Text: text})
	}
	return sources, nil
}

// displayName is the name of a policy file in messages and reports.
func displayName(file string) string {
	if file == stdinName {
		return "<stdin>"
	}
	return file
}

// readPolicy reads at most one byte more than a module may have; the
// preparation then says that it is too large.
func (s *session) readPolicy(name string) ([]byte, error) {
	in := s.streams.In
	if name != stdinName {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(io.LimitReader(in, policy.MaxModuleBytes+1))
}

func parseParams(pairs []string, s *session) (map[string]string, error) {
	params := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--param %q is not of the form NAME=VALUE", pair)
		}
		if _, twice := params[name]; twice {
			return nil, fmt.Errorf("--param %s is given twice", ui.Quote(name))
		}
		resolved, err := policy.ResolveParam(value, s.now())
		if err != nil {
			return nil, fmt.Errorf("--param %s: %w", ui.Quote(name), err)
		}
		params[name] = resolved
	}
	return params, nil
}

// sweepOptions turns the flags into limits of the sweep, with progress.
func (o *policyOptions) sweepOptions(s *session) sweep.Options {
	jobs := o.jobs
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	return sweep.Options{
		WindowRecords:   o.windowRecords,
		MaxRelationRows: o.maxRelationRows,
		Jobs:            jobs,
		Progress: func(done, total uint64) {
			s.progress.Update("sweep", done, total, "records")
		},
	}
}

// newPolicyError keeps the diagnostics apart, so that each gets its own line.
func newPolicyError(err error) *policyError {
	p := &policyError{err: err}
	if errors.As(err, &p.list) {
		for _, d := range p.list {
			p.lines = append(p.lines, d.Error())
		}
	}
	return p
}
