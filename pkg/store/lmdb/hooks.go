//go:build cgo

package lmdb

// hooks are what tests change; the zero value changes nothing.
type hooks struct {
	// envDir, unless nil, says where the environment of a root lies instead of
	// in it: LMDB reaches no file system but the real one.
	envDir func(dir string) string
	// reloaded, unless nil, is called before and after each commit of a reload,
	// with how many rows are reloaded then. Its error ends the run.
	reloaded func(rows uint64, committed bool) error
	// commit, unless nil, is called right before a commit of an admission or of
	// a reload, which its error takes back.
	commit func() error
	// flags are added to those that environments are opened with.
	flags uint
	// mapSize, unless zero, is how much an opening maps at least, in bytes.
	mapSize int64
	// batchRows, unless zero, is how many rows a batch of a reload has.
	batchRows uint64
}
