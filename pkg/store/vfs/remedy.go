package vfs

import (
	"errors"
	"io/fs"
)

// Remedy is what an operator does about an error of the file system before the
// next try: "" where the error alone does not tell.
func Remedy(err error) string {
	switch {
	case quota(err):
		return "raise the quota, or free some space that counts against it"
	case NoSpace(err):
		return "free some space"
	case readOnly(err):
		return "mount the file system read-write"
	case errors.Is(err, fs.ErrPermission):
		return "run it as a user who may do that, like the owner of the root"
	}
	return ""
}
