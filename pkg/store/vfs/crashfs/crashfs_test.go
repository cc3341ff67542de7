package crashfs_test

import (
	"testing"

	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
	"github.com/lace-store/lace/pkg/store/vfs/vfstest"
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]crashfs.Options{
		"plain":    {},
		"no punch": {NoPunch: true},
		"limited":  {FreeBytes: 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			vfstest.Run(t, func(t *testing.T) (vfs.FS, string) {
				fsys := crashfs.New(o)
				if err := fsys.Mkdir("/root"); err != nil {
					t.Fatal(err)
				}
				return fsys, "/root"
			}, vfstest.Options{NoPunch: o.NoPunch})
		})
	}
}

func TestConformanceWithFaults(t *testing.T) {
	vfstest.Run(t, func(*testing.T) (vfs.FS, string) {
		return faultfs.New(crashfs.New(crashfs.Options{}), "/"), "/"
	}, vfstest.Options{})
}
