package main

import (
	"bytes"
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

// sampleEvery is how often the memory of a running command is looked at.
const sampleEvery = 5 * time.Millisecond

// measured is one run of a command.
type measured struct {
	wall, cpu time.Duration
	anon      uint64 // peak of anonymous resident memory in bytes, 0 if unknown
	stdout    []byte
}

// measure runs a command to its end; any exit code but zero is an error.
func measure(ctx context.Context, name string, args ...string) (measured, error) {
	c := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
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
				return m, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(errs.Bytes()))
			}
			m.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
			return m, nil
		case <-ticks.C:
			m.anon = max(m.anon, anonymousOf(c.Process.Pid))
		}
	}
}

// anonymousOf returns the anonymous resident memory of a process in bytes, or
// zero where the system does not tell or the process has ended.
func anonymousOf(pid int) uint64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

// spread is what several runs of the same command took.
type spread struct {
	median, least, most time.Duration
	anon                uint64 // the greatest peak
}

func spreadOf(runs []measured) (spread, error) {
	if len(runs) == 0 {
		return spread{}, errors.New("no runs")
	}
	walls := make([]time.Duration, len(runs))
	var s spread
	for i, r := range runs {
		walls[i], s.anon = r.wall, max(s.anon, r.anon)
	}
	slices.Sort(walls)
	s.median, s.least, s.most = walls[len(walls)/2], walls[0], walls[len(walls)-1]
	return s, nil
}
