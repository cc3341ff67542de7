//go:build unix

package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs"
)

func TestRemedy(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{syscall.ENOSPC, "free some space"},
		{syscall.EDQUOT, "quota"},
		{syscall.EROFS, "read-write"},
		{syscall.EACCES, "owner"},
		{syscall.EPERM, "owner"},
		{syscall.EIO, ""},
		{errors.New("no errno"), ""},
	} {
		wrapped := fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "records", Err: c.err})
		got := vfs.Remedy(wrapped)
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	if got := vfs.Remedy(nil); got != "" {
		t.Errorf("no error: %q", got)
	}
}
