package osfs

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	sysFspacectl      = 580
	spacectlDealloc   = 1
	pcDeallocPresent  = 65      // _PC_DEALLOC_PRESENT of pathconf(2)
	fspacectlReleased = 1400097 // osreldate of FreeBSD 14.0
)

// spacectlRange is struct spacectl_range.
type spacectlRange struct{ offset, length int64 }

var errNoFspacectl = errors.New("needs FreeBSD 14")

// punchHole deallocates with fspacectl(2), which says how much is left to do.
// An older kernel would kill the process for the unknown call, and a file
// system without the ability would write zeros instead, so both are asked for
// first.
func punchHole(handle uintptr, off, n int64) error {
	release, err := unix.SysctlUint32("kern.osreldate")
	if err != nil {
		return err
	}
	if release < fspacectlReleased {
		return unsupported(errNoFspacectl)
	}
	present, err := unix.Fpathconf(int(handle), pcDeallocPresent)
	if err != nil || present != 1 {
		return unsupported(errors.Join(unix.EOPNOTSUPP, err))
	}
	rest := spacectlRange{offset: off, length: n}
	for rest.length > 0 {
		want := rest
		_, _, errno := unix.Syscall6(sysFspacectl, handle, spacectlDealloc,
			uintptr(unsafe.Pointer(&want)), 0, uintptr(unsafe.Pointer(&rest)), 0)
		switch errno {
		case 0, unix.EINTR: // rest is what is still to be done
		case unix.EOPNOTSUPP, unix.ENOSYS, unix.EPERM:
			return unsupported(errno)
		default:
			return errno
		}
	}
	return nil
}
