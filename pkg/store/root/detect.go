package root

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// The profiles, as messages name them.
const (
	Native       = "native"
	LMDB         = "LMDB"
	Node         = "Node"
	OPFS         = "OPFS"
	LocalStorage = "local storage"
)

// markers has the exact marker of every profile.
func markers() map[string]string {
	return map[string]string{
		NativeMarker: Native, LMDBMarker: LMDB, NodeMarker: Node,
		OPFSMarker: OPFS, LocalStorageMarker: LocalStorage,
	}
}

// MarkerOf returns the exact marker of a profile. It panics for a name that is
// none, which is a bug of the caller.
func MarkerOf(profile string) string {
	for marker, name := range markers() {
		if name == profile {
			return marker
		}
	}
	panic("root: no profile " + profile)
}

// Detect returns the profile of the root dir by its marker. It opens
// store-format alone, for reading, takes no lock, and reads no more than one
// byte beyond the longest marker. A directory without a complete marker of a
// known profile is NotRoot.
func Detect(fsys vfs.FS, dir string) (profile string, err error) {
	path := filepath.Join(dir, Marker)
	f, err := fsys.OpenFile(path, vfs.ReadOnly)
	if err != nil {
		return "", OpenError(fsys, dir, err)
	}
	marker, err := ReadMarker(f, len(NativeMarker)) // the longest
	if err = errors.Join(err, f.Close()); err != nil {
		return "", &store.Error{Kind: store.Store, Doing: "read", Root: dir, Path: path, Err: err}
	}
	return Judge(marker, dir)
}

// OpenError is the error of a store-format that could not be opened.
func OpenError(fsys vfs.FS, dir string, err error) error {
	path := filepath.Join(dir, Marker)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notRoot(dir, "no store-format here", err)
	case errors.Is(err, vfs.ErrNotRegular):
		return notRoot(dir, "store-format is no regular file", err)
	}
	if info, statErr := fsys.Stat(dir); statErr == nil && info.Type != vfs.Directory && info.Type != vfs.Symlink {
		return notRoot(dir, "no directory", err)
	}
	return &store.Error{Kind: store.Store, Doing: "open", Root: dir, Path: path, Err: err}
}

// ReadMarker reads at most one byte more than the exact marker of want bytes.
func ReadMarker(marker io.ReaderAt, want int) ([]byte, error) {
	buf := make([]byte, want+1)
	n, err := marker.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buf[:n], nil
}

// Judge names the profile of a marker, or says what else it is: the beginning
// of a marker that was never finished, zeros in place of its rest included, or
// a foreign one. Both are NotRoot.
func Judge(marker []byte, dir string) (profile string, err error) {
	if profile, ok := ProfileOf(marker); ok {
		return profile, nil
	}
	// A power cut may leave the size of a file without its bytes.
	written := strings.TrimRight(string(marker), "\x00")
	var begun []string
	for known, profile := range markers() {
		if len(marker) <= len(known) && strings.HasPrefix(known, written) {
			begun = append(begun, profile)
		}
	}
	if len(begun) > 0 {
		e := notRoot(dir, fmt.Sprintf("an unfinished marker of %d bytes: making this root was interrupted", len(marker)), nil)
		e.Hint = finishing(dir, begun)
		return "", e
	}
	return "", notRoot(dir, fmt.Sprintf("a foreign marker %q", strings.TrimSuffix(string(marker), "\n")), nil)
}

// finishing says how to finish the root that one of the profiles has begun to
// make. Those of browsers are made there alone.
func finishing(dir string, begun []string) string {
	var flags []string
	for _, profile := range []string{Native, LMDB, Node} {
		if slices.Contains(begun, profile) {
			flags = append(flags, "--profile "+strings.ToLower(profile))
		}
	}
	hint := "lace admit " + dir + " --create "
	switch {
	case len(flags) == 0:
		return ""
	case len(flags) == 1:
		return hint + flags[0] + " finishes making it"
	}
	return hint + "finishes making it, with the one of " + strings.Join(flags, ", ") + " that it was to have"
}

func notRoot(dir, found string, err error) *store.Error {
	return &store.Error{
		Kind: store.NotRoot, Doing: "open", Root: dir, Path: filepath.Join(dir, Marker),
		Found: found, Want: "a Lace root", Err: err,
	}
}
