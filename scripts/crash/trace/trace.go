//go:build linux && amd64

package trace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is a process to run and to watch.
type Command struct {
	Args   []string // the first is a path
	Dir    string   // working directory
	Env    []string
	Stdout *os.File
	Stderr *os.File
	Watch  string        // absolute; calls on this directory and below are shown
	Limit  time.Duration // the process is killed after this time; zero is a minute
	// Decide is asked before each watched call is carried out. It may take its
	// time: the calling thread stands still.
	Decide func(Call) Action
}

// Action is what becomes of a call. The zero value lets it be.
type Action struct {
	Errno     unix.Errno // the call is not carried out and fails with this
	Skip      bool       // the call is not carried out and reports success
	Short     int64      // a write of one buffer carries out this many bytes only, if positive
	DropFlags int        // an open goes on without these flags
	Kill      bool       // the process is killed before the call
	Forgive   bool       // the call is carried out; a failure reads as success
	KillAfter bool       // the process is killed behind the call
}

// Result is how a process ended.
type Result struct {
	Code   int // exit code; -1 after a signal
	Calls  int // mutating calls that were begun
	Killed bool
}

// thread is a traced thread: whether it is within a call, and what becomes of
// that call when it returns.
type thread struct {
	inside bool
	saved  uint64 // a register to be restored, with short set
	short  bool
	action Action
	forced bool  // the result is forced
	result int64 // to this
}

type tracer struct {
	command Command
	known   map[uint64]described
	pid     int
	threads map[int]*thread
	calls   int
	killed  bool
}

// Run runs the command to its end.
func Run(c Command) (Result, error) {
	// Every ptrace request of a tracee comes from one thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, err := syscall.ForkExec(c.Args[0], c.Args, &syscall.ProcAttr{
		Dir: c.Dir, Env: c.Env,
		Files: []uintptr{uintptr(unix.Stdin), c.Stdout.Fd(), c.Stderr.Fd()},
		Sys:   &syscall.SysProcAttr{Ptrace: true, Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return Result{}, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	if c.Limit == 0 {
		c.Limit = time.Minute
	}
	late := time.AfterFunc(c.Limit, func() { _ = unix.Kill(pid, unix.SIGKILL) })
	defer late.Stop()
	t := &tracer{command: c, known: calls(), pid: pid, threads: map[int]*thread{}}
	ws, err := t.follow()
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL) // its end is not waited for
		return Result{}, err
	}
	r := Result{Code: ws.ExitStatus(), Calls: t.calls, Killed: t.killed}
	if ws.Signaled() && !t.killed {
		return r, fmt.Errorf("%v ended by %v", c.Args, ws.Signal())
	}
	return r, nil
}

const options = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_EXITKILL

// follow steps all threads from call to call until the process has ended.
func (t *tracer) follow() (unix.WaitStatus, error) {
	for first := true; ; {
		var ws unix.WaitStatus
		// The group keeps other children of this thread out.
		tid, err := unix.Wait4(-t.pid, &ws, unix.WALL|unix.WNOTHREAD, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return ws, fmt.Errorf("wait for %v: %w", t.command.Args, err)
		}
		if ws.Exited() || ws.Signaled() {
			if tid == t.pid {
				return ws, nil
			}
			delete(t.threads, tid)
			continue
		}
		if first {
			first = false
			if err := unix.PtraceSetOptions(tid, options); err != nil {
				return ws, fmt.Errorf("trace %v: %w", t.command.Args, err)
			}
		}
		signal, err := t.stopped(tid, ws.StopSignal(), ws.TrapCause())
		if err == nil {
			err = unix.PtraceSyscall(tid, signal)
		}
		// A thread may be gone by a kill or an exit of all.
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return ws, fmt.Errorf("trace %v: %w", t.command.Args, err)
		}
	}
}

// stopped handles a stop of a thread and returns the signal to pass on.
func (t *tracer) stopped(tid int, signal unix.Signal, cause int) (int, error) {
	th, known := t.threads[tid]
	if !known {
		th = &thread{}
		t.threads[tid] = th
	}
	switch {
	case signal == unix.SIGTRAP|0x80:
		th.inside = !th.inside
		if th.inside {
			return 0, t.enter(tid, th)
		}
		return 0, t.leave(tid, th)
	case signal == unix.SIGTRAP || cause > 0:
		return 0, nil
	case signal == unix.SIGSTOP && !known:
		return 0, nil // the birth of a thread
	}
	return int(signal), nil
}

// enter is the beginning of a call.
func (t *tracer) enter(tid int, th *thread) error {
	th.action, th.forced, th.short = Action{}, false, false
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	call, watched := t.describe(&regs)
	if !watched || t.killed {
		return nil
	}
	if call.unknown {
		return fmt.Errorf("%s on %s is a call that is not watched", call.Name, call.Path)
	}
	if call.Mutates {
		t.calls++
		call.Index = t.calls
	}
	if t.command.Decide == nil {
		return nil
	}
	th.action = t.command.Decide(call)
	return t.act(tid, th, call, &regs)
}

// act changes a call as it begins.
func (t *tracer) act(tid int, th *thread, call Call, regs *unix.PtraceRegs) error {
	a := th.action
	switch {
	case a.Kill:
		return t.kill()
	case a.Errno != 0:
		th.forced, th.result = true, -int64(a.Errno)
	case a.Skip:
		th.forced, th.result = true, call.Len
	case a.Short > 0 && a.Short < call.Len && call.IsWrite():
		th.short, th.saved = true, regs.Rdx
		regs.Rdx = uint64(a.Short)
		return unix.PtraceSetRegs(tid, regs)
	case a.DropFlags != 0 && call.Name == "openat":
		regs.Rdx &^= uint64(a.DropFlags)
		return unix.PtraceSetRegs(tid, regs)
	}
	if !th.forced {
		return nil
	}
	regs.Orig_rax = ^uint64(0) // no such call
	return unix.PtraceSetRegs(tid, regs)
}

// leave is the end of a call.
func (t *tracer) leave(tid int, th *thread) error {
	if th.action.KillAfter {
		return t.kill()
	}
	if !th.forced && !th.short && !th.action.Forgive {
		return nil
	}
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	switch {
	case th.forced:
		regs.Rax = uint64(th.result)
	case th.short:
		regs.Rdx = th.saved
	case int64(regs.Rax) < 0:
		regs.Rax = 0
	}
	return unix.PtraceSetRegs(tid, &regs)
}

func (t *tracer) kill() error {
	t.killed = true
	return unix.Kill(t.pid, unix.SIGKILL)
}
