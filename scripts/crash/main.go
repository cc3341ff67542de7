//go:build linux && amd64

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rung is one kind of fault. It makes its trials from the seed alone.
type rung struct {
	name    string
	needs   []string // tools
	root    bool     // whether it needs to be root: mounts and loop devices
	trials  func(*rig) ([]trial, error)
	mutants []mutant
	// longOnly is a rung whose short form is part of "go test ./...".
	longOnly bool
}

func rungs() []rung {
	return []rung{statesRung(), killRung(), injectRung(), powerRung(), blocksRung(), diskRung(), fullRung(), punchRung(), locksRung(), modelRung(), hostileRung(), limitsRung()}
}

// settings are the flags.
type settings struct {
	n       int
	seed    uint64
	only    int
	long    bool
	jobs    int
	mutants bool
	mutant  string
	verbose bool
	lace    string
}

func main() {
	var s settings
	fs := flag.NewFlagSet("crash", flag.ExitOnError)
	fs.IntVar(&s.n, "n", 0, "random trials (0: the rung's own number)")
	fs.Uint64Var(&s.seed, "seed", 0, "seed of the trials (0: from the clock)")
	fs.IntVar(&s.only, "only", 0, "run this trial alone")
	fs.BoolVar(&s.long, "long", false, "the long form")
	fs.IntVar(&s.jobs, "jobs", runtime.NumCPU(), "trials at a time")
	fs.BoolVar(&s.mutants, "mutants", true, "first prove that the planted faults are caught")
	fs.StringVar(&s.mutant, "mutant", "", "with -only: plant this fault")
	fs.BoolVar(&s.verbose, "v", false, "a line for each trial")
	fs.StringVar(&s.lace, "lace", "", "test this binary on roots of its own size, instead of one built for small batches")
	if len(os.Args) < 2 {
		usage()
	}
	if err := fs.Parse(os.Args[2:]); err != nil || fs.NArg() > 0 {
		usage()
	}
	if s.seed == 0 {
		s.seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	if os.Args[1] == allRungs {
		os.Exit(ladder(s))
	}
	all := rungs()
	i := slices.IndexFunc(all, func(r rung) bool { return r.name == os.Args[1] })
	if i < 0 {
		usage()
	}
	os.Exit(enter(all[i], s))
}

func usage() {
	var names []string
	for _, r := range rungs() {
		names = append(names, r.name)
	}
	fmt.Fprintf(os.Stderr, "usage: crash RUNG [flags]; the rungs are %s, and "+allRungs+" for each in turn\n", strings.Join(names, ", "))
	os.Exit(2)
}

// inNamespace marks the process that has its own mounts.
const inNamespace = "LACE_CRASH_NAMESPACE"

// enter runs the rung within mounts of its own, so that what a test mounts
// vanishes with it, also when it is killed.
func enter(r rung, s settings) int {
	if why := missing(r); why != "" {
		fmt.Printf("SKIPPED 1 rung: %s: %s\n", r.name, why)
		if err := (figures{Rung: r.name, Why: why}).save(); err != nil {
			fmt.Fprintln(os.Stderr, "crash:", err)
			return 1
		}
		if os.Getenv("CI") == "true" {
			return 1
		}
		return 0
	}
	if os.Getenv(inNamespace) != "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			fmt.Fprintln(os.Stderr, "crash: private mounts:", err)
			return 1
		}
		return run(r, s)
	}
	if os.Getuid() != 0 {
		return run(r, s)
	}
	self := exec.Command("/proc/self/exe", os.Args[1:]...)
	self.Args = append(self.Args, "-seed", fmt.Sprint(s.seed))
	self.Env = append(os.Environ(), inNamespace+"=1")
	self.Stdin, self.Stdout, self.Stderr = os.Stdin, os.Stdout, os.Stderr
	self.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	// The terminal tells the child too; its end is what counts.
	signal.Ignore(os.Interrupt)
	_ = self.Run() // its exit code says it
	if self.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "crash: no mount namespace")
		return 1
	}
	return max(self.ProcessState.ExitCode(), 0)
}

// missing says why a rung cannot run here.
func missing(r rung) string {
	if r.root && os.Getuid() != 0 {
		return "it needs to be root"
	}
	for _, tool := range r.needs {
		_, err := os.Stat(tool)
		if !filepath.IsAbs(tool) {
			_, err = exec.LookPath(tool)
		}
		if err != nil {
			return tool + " is missing"
		}
	}
	return ""
}
