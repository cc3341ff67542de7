package cmd

import (
	"context"
	"errors"

	"github.com/lace-store/lace/pkg/policy/syntax"
	"github.com/lace-store/lace/pkg/store"
)

// The exit codes of lace. Scripts rely on them: a code never changes its
// meaning, and busy, skipped and done are never the same code.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDamage      = 3
	exitUnformatted = 4
	exitNotRoot     = 10
	exitBusy        = 11
	exitNeedsResume = 12
	exitCorrupt     = 13
	exitLimit       = 14
	exitGuard       = 15
	exitNoSpace     = 16
	exitNotWorth    = 17
	exitStopped     = 75
)

// verdict is an outcome that is not an error of the run but must not exit
// with 0: damage found by verify, a probe that says "not worth it", a check
// that finds something to do.
type verdict struct {
	code    int
	message string
}

func (v *verdict) Error() string { return v.message }

// usageError is a mistake in flags, arguments or configuration.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

// policyError is a policy that cannot be prepared: the diagnostics of all its
// files, as one error, as a list and as a line each.
type policyError struct {
	err   error
	list  syntax.List
	lines []string
}

func (p *policyError) Error() string { return p.err.Error() }
func (p *policyError) Unwrap() error { return p.err }

// exitRow is one row of the exit-code table.
type exitRow struct {
	code    int
	meaning string
	matches func(error) bool
}

// exitTable maps errors to exit codes, first match first. It is the only
// place that does; `lace help exit-codes` prints it.
func exitTable() []exitRow {
	is := func(targets ...error) func(error) bool {
		return func(err error) bool {
			for _, t := range targets {
				if errors.Is(err, t) {
					return true
				}
			}
			return false
		}
	}
	verdictOf := func(code int) func(error) bool {
		return func(err error) bool {
			var v *verdict
			return errors.As(err, &v) && v.code == code
		}
	}
	return []exitRow{
		{exitDone, "done, or nothing to do", func(err error) bool { return err == nil }},
		{exitDamage, "verification found damage", verdictOf(exitDamage)},
		{exitUnformatted, "a policy is not formatted (policy fmt --check)", verdictOf(exitUnformatted)},
		{exitNotWorth, "not worth it (sweep --min-released)", verdictOf(exitNotWorth)},
		{exitUsage, "usage, configuration or policy preparation error", isUsage},
		{exitNotRoot, "not a Lace root, or a profile this build lacks", is(store.NotRoot, store.Unsupported)},
		{exitNeedsResume, "an interrupted compaction must be resumed first", is(store.NeedsResume)},
		{exitCorrupt, "corrupt store", is(store.CorruptStore)},
		{exitLimit, "limit exceeded", is(store.LimitExceeded)},
		{exitGuard, "a guard refused", is(store.Guarded)},
		{exitBusy, "root busy: open elsewhere, or a record of it is alive", is(store.Busy)},
		{exitNoSpace, "not enough free space", is(store.NoSpace)},
		{exitStopped, "stopped on request or deadline; resumable", is(store.Interrupted, context.Canceled, context.DeadlineExceeded)},
		{exitFailed, "I/O or internal failure", func(error) bool { return true }},
	}
}

func isUsage(err error) bool {
	var u *usageError
	var p *policyError
	return errors.As(err, &u) || errors.As(err, &p)
}

// exitCode returns the exit code for the error a command ended with.
func exitCode(err error) int {
	for _, row := range exitTable() {
		if row.matches(err) {
			return row.code
		}
	}
	return exitFailed
}
