package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/rowlog"
	"github.com/lace-store/lace/pkg/store/vfs"
)

// planBody is what the header of a plan says, and the journal beside it.
type planBody struct {
	Boundary     uint64 `json:"boundary"`
	Retained     uint64 `json:"retained"`
	JournalSize  uint64 `json:"journal_size_bytes"`
	OldEnd       uint64 `json:"old_end_bytes"`
	JournalBytes uint64 `json:"journal_bytes"` // of compaction-journal, 0 without one
	MayNeedBytes uint64 `json:"may_need_bytes"`
}

// listsBody counts the posting lists of one shape of key.
type listsBody struct {
	Shape string `json:"shape"`
	Lists uint64 `json:"lists"`
	Bytes uint64 `json:"bytes"`
}

// lockBody is one file that is locked, and who holds it. Nobody is named where
// the system does not tell.
type lockBody struct {
	File    string       `json:"file"`
	Present bool         `json:"present"`
	Holders []holderBody `json:"holders"`
}

type holderBody struct {
	PID     int    `json:"pid"`
	Command string `json:"command,omitempty"`
}

// more adds what the flags ask for. The examination is nil when the root cannot
// be owned or opened.
func (o *inspectOptions) more(s *session, at place, d *inspectDocument, x profile.Examination) (err error) {
	if o.compaction {
		d.Plan = readPlan(s.fs, at.dir)
	}
	if o.indexes {
		if d.Indexes, err = countLists(s.fs, filepath.Join(at.dir, root.Indexes)); err != nil {
			return &store.Error{Kind: store.Store, Doing: "count the posting lists of", Root: at.dir, Err: err}
		}
	}
	if o.records && x != nil {
		d.list = &recordList{table: x.Table()} // a table outlives its root
	}
	return nil
}

// readPlan reads the header of the plan, without believing it.
func readPlan(fsys vfs.FS, dir string) *planBody {
	text, err := readStart(fsys, filepath.Join(dir, root.Plan), format.PlanHeaderLen)
	if err != nil {
		return nil
	}
	h, err := format.DecodePlanHeader(text)
	if err != nil {
		return nil
	}
	body := &planBody{
		Boundary: uint64(h.Boundary), Retained: h.Retained, JournalSize: h.Journal, OldEnd: h.OldEnd,
		MayNeedBytes: min(h.Journal, h.OldEnd) + h.Retained*rowlog.RowLen,
	}
	if info, err := fsys.Stat(filepath.Join(dir, root.Journal)); err == nil {
		body.JournalBytes = uint64(info.Size)
	}
	return body
}

// countLists counts by the directories that the shapes of keys have.
func countLists(fsys vfs.FS, path string) ([]listsBody, error) {
	bodies := []listsBody{}
	shapes, err := fsys.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return bodies, nil
	}
	if err != nil {
		return nil, err
	}
	for _, shape := range shapes {
		body := listsBody{Shape: shape.Name}
		if err := body.add(fsys, filepath.Join(path, shape.Name), shape); err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

func (b *listsBody) add(fsys vfs.FS, path string, info vfs.Info) error {
	if info.Type != vfs.Directory {
		if strings.HasSuffix(info.Name, ".ids") {
			b.Lists++
			b.Bytes += uint64(info.Size)
		}
		return nil
	}
	entries, err := fsys.ReadDir(path)
	for _, e := range entries {
		err = errors.Join(err, b.add(fsys, filepath.Join(path, e.Name), e))
	}
	return err
}

// lockBodies asks the system who holds the locks of the root; no lock is tried.
func lockBodies(fsys vfs.FS, dir string) []lockBody {
	var bodies []lockBody
	for _, name := range []string{root.Marker, root.Lock, root.ArenaLock} {
		path := filepath.Join(dir, name)
		_, err := fsys.Stat(path)
		body := lockBody{File: name, Present: err == nil, Holders: []holderBody{}}
		for _, h := range vfs.LockHolders(fsys, path) {
			body.Holders = append(body.Holders, holderBody{h.PID, h.Command})
		}
		slices.SortFunc(body.Holders, func(a, b holderBody) int { return cmp.Compare(a.PID, b.PID) })
		bodies = append(bodies, body)
	}
	return bodies
}

// details are the lines of what the flags asked for.
func (d *inspectDocument) details(line func(name, format string, args ...any)) {
	if p := d.Plan; p != nil {
		line("plan", "%s of %s records stay, batches of at most %s, old end %d", ui.Count(p.Retained), ui.Count(p.Boundary), ui.Size(p.JournalSize), p.OldEnd)
		line("journal", "%s", ui.Size(p.JournalBytes))
		line("space", "a resume may need %s", ui.Size(p.MayNeedBytes))
	}
	for _, l := range d.Indexes {
		line("lists", "%s: %s, %s", ui.Quote(l.Shape), ui.Count(l.Lists), ui.Size(l.Bytes))
	}
	for _, l := range d.Locks {
		line("lock", "%s: %s", l.File, l.holders())
	}
}

func (b lockBody) holders() string {
	if !b.Present {
		return "no such file"
	}
	var names []string
	for _, h := range b.Holders {
		names = append(names, fmt.Sprintf("process %d %s", h.PID, ui.Quote(h.Command)))
	}
	if len(names) == 0 {
		return "held by nobody that the system names"
	}
	return "held by " + strings.Join(names, ", ")
}
