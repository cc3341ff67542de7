package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sampleEvery is how often the memory and the files of a running command are
// looked at.
const sampleEvery = 5 * time.Millisecond

// command is what is measured.
type command struct {
	name  string
	args  []string
	watch string   // unless empty, the directory whose growth is sampled
	after *command // unless nil, what is run behind it, not measured
}

// measured is one run of a command.
type measured struct {
	wall, cpu time.Duration
	anon      uint64 // peak of anonymous resident memory in bytes, 0 if unknown
	resident  uint64 // peak of all resident pages in bytes, 0 if unknown
	written   uint64 // bytes sent to storage, 0 if unknown
	extra     int64  // peak growth of the watched directory in bytes, with open files that have no name
	stdout    []byte
}

// measure runs a command to its end; any exit code but zero is an error.
func measure(ctx context.Context, what command) (measured, error) {
	c := exec.CommandContext(ctx, what.name, what.args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	before := int64(0)
	if what.watch != "" {
		before = allocated(what.watch)
	}
	begin := time.Now()
	if err := c.Start(); err != nil {
		return measured{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	var m measured
	ticks := time.NewTicker(sampleEvery)
	defer ticks.Stop()
	for {
		select {
		case err := <-ended:
			m.wall, m.stdout = time.Since(begin), out.Bytes()
			if err != nil {
				return m, fmt.Errorf("%s %s: %w: %s", what.name, strings.Join(what.args, " "), err, bytes.TrimSpace(errs.Bytes()))
			}
			m.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
			m.written = writtenBy(c.ProcessState)
			return m, nil
		case <-ticks.C:
			m.sample(c.Process.Pid)
			if what.watch != "" {
				m.extra = max(m.extra, allocated(what.watch)-before+unlinked(c.Process.Pid))
			}
		}
	}
}

// sample looks at the memory of a process, where the system tells it and the
// process has not ended.
func (m *measured) sample(pid int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		var peak *uint64
		switch name {
		case "RssAnon":
			peak = &m.anon
		case "VmHWM":
			peak = &m.resident
		default:
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
			*peak = max(*peak, n<<10)
		}
	}
}

// spread is the middle and the ends of some values.
type spread[T cmp.Ordered] struct{ median, least, most T }

// spreadOf returns the spread of at least one value.
func spreadOf[T cmp.Ordered](values []T) spread[T] {
	sorted := slices.Sorted(slices.Values(values))
	return spread[T]{sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1]}
}

// figures returns the spread of one figure of several runs.
func figures[T cmp.Ordered](runs []measured, of func(measured) T) (spread[T], error) {
	if len(runs) == 0 {
		return spread[T]{}, errors.New("no runs")
	}
	values := make([]T, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	return spreadOf(values), nil
}
