//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// statesRung is the long form of rungs 0 and 0m, which run in process: states of
// the model file system, in parts of which each is a trial, and the planted
// protocols of the compaction.
func statesRung() rung {
	return rung{name: "states", longOnly: true, trials: statesTrials}
}

// matrix is a test that tries states, and its share of them.
type matrix struct {
	dir, test string
	share     int // of all, in percent
}

func matrices() []matrix {
	return []matrix{
		{"pkg/compact/compacttest", "TestMatrix", 45},
		{"pkg/compact/compacttest", "TestMatrixTruncating", 15},
		{"pkg/compact/compacttest", "TestMatrixEverySecond", 15},
		{"pkg/store/native", "TestCompactionSurvivesCrashes", 15},
		{"pkg/store/node", "TestCompactionSurvivesCrashes", 10},
	}
}

// partStates is how many states a trial tries.
const partStates = 50_000

func statesTrials(g *rig) ([]trial, error) {
	states := g.n
	if states == 0 {
		states = 100_000
		if g.long {
			states = 5_000_000
		}
	}
	trials := []trial{{"planted protocols", func(w *worker) error { return w.protocols() }}}
	built := map[string]string{}
	for _, m := range matrices() {
		if built[m.dir] == "" {
			built[m.dir] = filepath.Join(g.tmp, filepath.Base(m.dir)+".test")
			if out, err := exec.Command("go", "test", "-c", "-o", built[m.dir], "./"+m.dir).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("go test -c: %w\n%s", err, out)
			}
		}
		for left := states / 100 * m.share; left > 0; left -= partStates {
			// A million shapes apart, so that no part comes into the next one's.
			n, first := min(left, partStates), (g.seed*1000+uint64(len(trials)))*1_000_000
			trials = append(trials, trial{fmt.Sprintf("%s of %s: %d states from shape %d", m.test, m.dir, n, first), func(w *worker) error {
				return w.states(m, built[m.dir], n, first)
			}})
		}
	}
	return trials, nil
}

// states lets a test try states, and counts what it tried.
func (w *worker) states(m matrix, binary string, n int, first uint64) error {
	c := exec.Command(binary, "-test.v", "-test.timeout", "0", "-test.run", "^"+m.test+"$")
	c.Dir = m.dir
	c.Env = append(os.Environ(), fmt.Sprint("LACE_CRASH_STATES=", n), fmt.Sprint("LACE_CRASH_FIRST=", first), "GOMAXPROCS=1")
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, end(out))
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) > 2 && words[2] == "states" {
			tried, err := strconv.Atoi(words[1])
			if err == nil && tried >= n {
				w.of.states.Add(int64(tried))
				return nil
			}
		}
	}
	return fmt.Errorf("it does not say how many states it tried:\n%s", out)
}

// protocols runs the planted wrong protocols of rung 0m: each is a subtest
// that passes when what it breaks is caught.
func (w *worker) protocols() error {
	c := exec.Command("go", "test", "-count=1", "-v", "-run", "^TestMutants$", "./pkg/compact/compacttest")
	out, err := c.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, ": TestMutants/") || !strings.HasPrefix(strings.TrimSpace(line), "---") {
			continue
		}
		w.of.planted.Add(1)
		if strings.Contains(line, "--- PASS") {
			w.of.caught.Add(1)
		}
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, end(out))
	}
	return nil
}

// end is the last of what a test said, where its failure is.
func end(out []byte) []byte { return out[max(len(out)-4000, 0):] }
