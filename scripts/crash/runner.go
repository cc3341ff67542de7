//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// trial is one fault and the check of what it left.
type trial struct {
	name string // the crash point
	run  func(*worker) error
}

// mutant is a planted fault: it changes what becomes of calls of the binary.
// action is what the trial itself wants to become of the call.
type mutant struct {
	name     string
	aim      string // trials whose names contain it are tried first
	sabotage func(c trace.Call, action trace.Action) trace.Action
}

// errSkipped is a trial that this machine cannot run.
var errSkipped = errors.New("skipped")

// worker runs trials one after the other.
type worker struct {
	*rig
	dir      string     // of its own, emptied before each trial
	rand     *rand.Rand // of the trial
	mutant   *mutant
	patience time.Duration  // with a command; 0 is a minute
	edited   string         // the binary with a planted fault of the source
	benches  map[int]*bench // by size in bytes, since a trial needed it
}

// run proves the planted faults to be caught, then runs the trials.
func run(r rung, s settings) int {
	begin := time.Now()
	g, err := newRig(s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		return 1
	}
	defer g.remove()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		g.remove()
		os.Exit(1)
	}()
	trials, err := r.trials(g)
	if err != nil {
		fmt.Fprintf(os.Stderr, "crash: %s: %v\n", r.name, err)
		return 1
	}
	if s.only > 0 {
		return only(g, r, trials)
	}
	caught, blind := 0, 0
	for i := range r.mutants {
		if !s.mutants {
			break
		}
		if catch(g, r, &r.mutants[i], trials) {
			caught++
		} else {
			blind++
		}
	}
	c := campaign(g, r, trials)
	f := figures{
		Rung: r.name, Trials: c.done, States: g.of.states.Load(), Failures: c.failed, Skipped: c.skipped,
		Caught: caught + int(g.of.caught.Load()), Planted: len(r.mutants) + int(g.of.planted.Load()), Seconds: time.Since(begin).Seconds(),
	}
	fmt.Printf("seed %d, %s\n", s.seed, f)
	if err := f.save(); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		return 1
	}
	if c.failed > 0 || blind > 0 || c.skipped > 0 && os.Getenv("CI") == "true" {
		return 1
	}
	return 0
}

// only repeats one trial.
func only(g *rig, r rung, trials []trial) int {
	if g.only > len(trials) {
		fmt.Fprintf(os.Stderr, "crash: %s has %d trials\n", r.name, len(trials))
		return 2
	}
	w := &worker{rig: g, dir: filepath.Join(g.tmp, "only")}
	for i := range r.mutants {
		if r.mutants[i].name == g.mutant {
			w.mutant = &r.mutants[i]
		}
	}
	defer w.close()
	err := w.try(trials, g.only-1)
	fmt.Printf("trial %d, %s: %v\n", g.only, trials[g.only-1].name, err)
	if err != nil {
		return 1
	}
	return 0
}

// catch runs trials with a planted fault until one fails.
func catch(g *rig, r rung, m *mutant, trials []trial) bool {
	shuffled := make([]int, len(trials))
	for i := range shuffled {
		shuffled[i] = i
	}
	random := rand.New(rand.NewPCG(g.seed, 1))
	random.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
	slices.SortStableFunc(shuffled, func(a, b int) int {
		return aimed(trials[b].name, m.aim) - aimed(trials[a].name, m.aim)
	})
	w := &worker{rig: g, dir: filepath.Join(g.tmp, "mutant"), mutant: m}
	defer w.close()
	for tried, i := range shuffled {
		if err := w.try(trials, i); err != nil && !errors.Is(err, errSkipped) {
			fmt.Printf("%s: planted %q: caught by trial %d, the %d. tried: %s: %.160s\n", r.name, m.name, i+1, tried+1, trials[i].name, err)
			return true
		}
	}
	fmt.Printf("BLIND %s: seed %d: planted %q: %d trials do not see it\n", r.name, g.seed, m.name, len(trials))
	return false
}

func aimed(name, aim string) int {
	if strings.Contains(name, aim) {
		return 1
	}
	return 0
}

// count is what came of a campaign.
type count struct{ done, failed, skipped int }

// campaign runs all trials, some at a time, and says what failed.
func campaign(g *rig, r rung, trials []trial) count {
	var (
		c     count
		mu    sync.Mutex
		group sync.WaitGroup
		next  int
	)
	for j := range g.jobs {
		w := &worker{rig: g, dir: filepath.Join(g.tmp, fmt.Sprintf("worker%d", j))}
		group.Go(func() {
			defer w.close()
			for {
				mu.Lock()
				i := next
				next++
				enough := i >= len(trials)
				mu.Unlock()
				if enough {
					return
				}
				err := w.try(trials, i)
				mu.Lock()
				c.add(g, r, trials[i], i, err)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return c
}

func (c *count) add(g *rig, r rung, t trial, i int, err error) {
	c.done++
	switch {
	case err == nil:
		if g.verbose {
			fmt.Printf("ok %s %d, %s\n", r.name, i+1, t.name)
		}
	case errors.Is(err, errSkipped):
		c.done--
		c.skipped++
		fmt.Printf("SKIPPED %s %d, %s: %v\n", r.name, i+1, t.name, err)
	default:
		c.failed++
		long := ""
		if g.long {
			long = " -long"
		}
		fmt.Printf("FAILED %s: seed %d, trial %d, %s: %v\n  repeat: go run ./scripts/crash %s -seed %d%s -n %d -only %d\n",
			r.name, g.seed, i+1, t.name, err, r.name, g.seed, long, g.n, i+1)
	}
}

// try runs trial i in an empty directory.
func (w *worker) try(trials []trial, i int) error {
	if err := os.RemoveAll(w.dir); err != nil {
		return err
	}
	if err := os.Mkdir(w.dir, 0o777); err != nil {
		return err
	}
	w.rand = rand.New(rand.NewPCG(w.seed, uint64(i)+2))
	return trials[i].run(w)
}
