//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// allRungs stands for every rung in turn.
const allRungs = "all"

// figuresFile names the file to which each rung of a ladder adds its figures.
const figuresFile = "LACE_CRASH_FIGURES"

// figures are what a rung has to show.
type figures struct {
	Rung     string
	Trials   int
	States   int64 // of the model; 0 for a rung of the built binary
	Failures int
	Skipped  int // trials
	Caught   int // of the planted faults
	Planted  int
	Seconds  float64
	Why      string // the rung as a whole was skipped
}

// String is one line for a log.
func (f figures) String() string {
	states := ""
	if f.States > 0 {
		states = fmt.Sprintf(" of %d states", f.States)
	}
	return fmt.Sprintf("%s: %d trials%s, %d failures, %d skipped, %d of %d planted faults caught, %.0f s",
		f.Rung, f.Trials, states, f.Failures, f.Skipped, f.Caught, f.Planted, f.Seconds)
}

// save adds the figures to the ladder's file, if there is one.
func (f figures) save() error {
	name := os.Getenv(figuresFile)
	if name == "" {
		return nil
	}
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// ladder runs every rung in a process of its own, also after one that failed,
// and prints the figures of all.
func ladder(s settings) int {
	if s.only > 0 {
		fmt.Fprintln(os.Stderr, "crash: -only is for one rung")
		return 2
	}
	dir, err := os.MkdirTemp("", "lace-crash")
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "figures")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		return 1
	}
	begin, code := time.Now(), 0
	for _, r := range rungs() {
		if r.longOnly && !s.long {
			continue
		}
		fmt.Printf("== %s\n", r.name)
		c := exec.Command("/proc/self/exe", append(append([]string{r.name}, os.Args[2:]...), "-seed", fmt.Sprint(s.seed))...)
		c.Env = append(os.Environ(), figuresFile+"="+file)
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			fmt.Printf("FAILED rung %s: %v\n", r.name, err)
			code = 1
		}
	}
	all, err := readFigures(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		return 1
	}
	fmt.Print(table(all, s, time.Since(begin)))
	return code
}

func readFigures(name string) ([]figures, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []figures
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		var f figures
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// table is the figures as docs/testing.md has them. What was skipped is in it,
// and counted.
func table(all []figures, s settings, took time.Duration) string {
	var b bytes.Buffer
	form := "short"
	if s.long {
		form = "long"
	}
	fmt.Fprintf(&b, "\nthe %s form, seed %d, in %.0f s:\n\n", form, s.seed, took.Seconds())
	b.WriteString("| rung | trials | failures | skipped | planted faults caught | seconds |\n|---|---|---|---|---|---|\n")
	trials, failures, skipped, rungs := 0, 0, 0, 0
	for _, f := range all {
		if f.Why != "" {
			rungs++
			fmt.Fprintf(&b, "| %s | - | - | all: %s | - | - |\n", f.Rung, f.Why)
			continue
		}
		count := fmt.Sprint(f.Trials)
		if f.States > 0 {
			count = fmt.Sprintf("%d states", f.States)
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d of %d | %.0f |\n", f.Rung, count, f.Failures, f.Skipped, f.Caught, f.Planted, f.Seconds)
		trials, failures, skipped = trials+f.Trials, failures+f.Failures, skipped+f.Skipped
	}
	fmt.Fprintf(&b, "\n%d trials, %d failures; SKIPPED %d rungs and %d trials\n", trials, failures, rungs, skipped)
	return b.String()
}
