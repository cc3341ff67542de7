package native_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profiletest"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// TestBadRowFailsClosed: a bad complete row is named with its offset, and nothing
// changes.
func TestBadRowFailsClosed(t *testing.T) {
	beyond := profiletest.BadRow{
		Name: "beyond the capacity", Change: profiletest.SetRow(3, profiletest.As, profiletest.To(minCapacity)), Names: []string{"row 3 at offset 192", "1048576"},
	}
	subject.BadRowsFailClosed(t, append(profiletest.BadRows(), beyond), failsClosed)
}

func failsClosed(t *testing.T, fsys vfs.FS, dir string, parts ...string) {
	t.Helper()
	unchanged(t, dir, func() {
		for _, o := range openers[:3] {
			kind(t, o.open(t, fsys, dir), store.CorruptStore, parts...)
		}
		kind(t, openers[4].open(t, fsys, dir), store.CorruptStore, parts...)
	})
}

func TestBadGlyphFailsClosed(t *testing.T) {
	length := len(blob(0))
	for name, change := range map[string]func([]byte) []byte{
		"first byte":         profiletest.SetByte(length, 'x'),
		"hash":               profiletest.SetByte(length+10, 'x'),
		"end of line":        profiletest.SetByte(length+54, ' '),
		"of another record":  func(b []byte) []byte { copy(b[length:], blob(3)[:55]); return b },
		"zeros":              func(b []byte) []byte { clear(b[length : length+55]); return b },
		"shorter than a row": nil,
	} {
		for _, torn := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, %d bytes torn", name, torn), func(t *testing.T) {
				fsys, dir := newRoot(t, blobs(0, 3)...)
				if change != nil {
					edit(t, filepath.Join(dir, root.Records), change)
				} else {
					edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { return profiletest.SetRow(1, profiletest.As, profiletest.To(54))(b)[:128] })
				}
				edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { return append(b, make([]byte, torn)...) })
				failsClosed(t, fsys, dir, "record #2", fmt.Sprintf("offset %d", length))
			})
		}
	}
}

// Recovery trusts what was admitted beyond its glyph line.
func TestRecoveryTrustsTheRestOfARecord(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 3)...)
	edit(t, filepath.Join(dir, root.Records), profiletest.SetByte(len(blob(0))+55, '?'))
	for _, o := range openers[:3] {
		must(t, o.open(t, fsys, dir))
	}
}

func TestPartialFinalRow(t *testing.T)     { subject.PartialFinalRow(t) }
func TestLostRowsAreRestored(t *testing.T) { subject.LostRowsAreRestored(t) }

// A record that is not proven by every digest gives no row.
func TestLostRowOfADamagedRecordFailsClosed(t *testing.T) {
	fsys, dir := newRoot(t, blobs(0, 3)...)
	edit(t, filepath.Join(dir, root.RecordLog), func(b []byte) []byte { clear(b[128:]); return b })
	edit(t, filepath.Join(dir, root.Records), profiletest.SetByte(len(blob(0))+len(blob(1))+len(blob(2))-1, '?'))
	failsClosed(t, fsys, dir, "row 2 at offset 128")
}

func TestRestoringSurvivesCrashes(t *testing.T) { subject.RestoringSurvivesCrashes(t) }

func TestTruncationOfATornRowIsDurable(t *testing.T) { subject.TruncationOfATornRowIsDurable(t) }
