package osfs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/pkg/store/vfs"
)

var _ vfs.HolderFinder = FS{}

// maxCommand bounds what is read of a process's name; the kernel keeps 16 bytes.
const maxCommand = 64

// LockHolders looks the file up in /proc/locks. Processes of other containers
// have no number there, and are left out.
func (f FS) LockHolders(path string) []vfs.Holder {
	info, err := f.Stat(path)
	if err != nil {
		return nil
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return nil
	}
	holders := parseLocks(locks, info.FileID)
	if err := locks.Close(); err != nil {
		return nil
	}
	for i := range holders {
		holders[i].Command = commandOf(holders[i].PID)
	}
	return holders
}

// parseLocks reads lines like
//
//	1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
//
// where the sixth field is the device, in hexadecimal, and the inode. A line
// with "->" is a process that waits.
func parseLocks(locks io.Reader, file vfs.FileID) []vfs.Holder {
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(file.Device), unix.Minor(file.Device), file.Inode)
	var holders []vfs.Holder
	lines := bufio.NewScanner(locks)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != want {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
			holders = append(holders, vfs.Holder{PID: pid})
		}
	}
	return holders
}

func commandOf(pid int) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	defer f.Close() // read-only: nothing to lose
	b, err := io.ReadAll(io.LimitReader(f, maxCommand))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSuffix(b, []byte("\n")))
}
