package native_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/profiletest"
)

// minCapacity is the least capacity of a root, in bytes.
const minCapacity = 1 << 20

// subject brings this profile to the shared tests.
var subject = profiletest.Subject{Profile: native.Profile{}, Capacity: minCapacity}

// What the tests of every profile share.
var (
	must        = profiletest.Must
	quickFS     = profiletest.QuickFS
	model       = profiletest.Model
	blob        = profiletest.Blob
	blobs       = profiletest.Blobs
	bigBlob     = profiletest.BigBlob
	storeOp     = profiletest.Op
	admit       = profiletest.Admit
	load        = profiletest.Load
	unchanged   = profiletest.Unchanged
	names       = profiletest.Names
	sameRecords = profiletest.Same
	kind        = profiletest.Kind
	put         = profiletest.Put
	get         = profiletest.Get
	keepAll     = profiletest.KeepAll
	edit        = profiletest.Edit
	contents    = subject.Contents
	build       = subject.MakeRoot
	newRoot     = subject.NewRoot
)

// released waits for the garbage collector to end a mapping.
func released(t testing.TB, done <-chan struct{}) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		runtime.GC()
		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatal("the mapping was not released")
}
