package cmd

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// The numbers of ioprio_set(2), which the headers of the C library lack.
const (
	ioprioWhoProcess = 1
	ioprioClassIdle  = 3
	ioprioClassShift = 13
)

// setIdleIO puts every thread of this process into the idle class. A thread
// that is made later inherits it from the one that makes it.
func setIdleIO() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			return err
		}
		_, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(id), ioprioClassIdle<<ioprioClassShift)
		if errno != 0 && !errors.Is(errno, unix.ESRCH) { // a thread may have ended
			return os.NewSyscallError("ioprio_set", errno)
		}
	}
	return nil
}
