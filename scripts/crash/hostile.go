//go:build linux && amd64

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lace-store/lace/scripts/crash/trace"
)

// hostileRung damages the files of roots and plants foreign entries at every
// name. Each command refuses and changes nothing, or is right.
func hostileRung() rung {
	return rung{name: "hostile", root: true, trials: hostileTrials, mutants: []mutant{
		{"opening waits for the writer of a FIFO", "fifo at record-log", unsabotaged},
		{"symbolic links are followed", "link to a file at record-log", unsabotaged},
	}}
}

func unsabotaged(_ trace.Call, a trace.Action) trace.Action { return a }

// edits are what the planted faults of this rung change in the source.
func edits() map[string]edit {
	const file = "pkg/store/vfs/osfs/open_unix.go"
	return map[string]edit{
		"opening waits for the writer of a FIFO": {file, "unix.O_NOFOLLOW | unix.O_NONBLOCK |", "unix.O_NOFOLLOW |"},
		"symbolic links are followed":            {file, "unix.O_NOFOLLOW | unix.O_NONBLOCK |", "unix.O_NONBLOCK |"},
	}
}

// entryNames are all names that mean something in a root.
func entryNames() []string {
	names := []string{"store-format", "lock", "arena-lock", "record-log", "records", "indexes-v2", "indexes-v1", "staging"}
	for _, n := range []string{"compaction-plan", "compaction-state", "compaction-journal", "record-log", "store-format"} {
		if strings.HasPrefix(n, "compaction-") {
			names = append(names, n)
		}
		names = append(names, n+".lace-tmp")
	}
	return names
}

// planted is a foreign entry.
type foreign struct {
	kind string
	make func(w *worker, path string) error
}

func foreigners() []foreign {
	inside := func(path string) error { return os.WriteFile(filepath.Join(path, "x"), []byte("mine"), 0o666) }
	return []foreign{
		{"link to a file", func(w *worker, path string) error { return os.Symlink(w.outside("file"), path) }},
		{"link to a directory", func(w *worker, path string) error { return os.Symlink(w.outside("directory"), path) }},
		{"link to nothing", func(w *worker, path string) error { return os.Symlink(w.outside("nothing"), path) }},
		{"link to itself", func(_ *worker, path string) error { return os.Symlink(filepath.Base(path), path) }},
		{"fifo", func(_ *worker, path string) error { return unix.Mkfifo(path, 0o666) }},
		{"socket", func(_ *worker, path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o666, 0) }},
		{"device", func(_ *worker, path string) error {
			return unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
		}},
		{"block device", func(_ *worker, path string) error {
			return unix.Mknod(path, unix.S_IFBLK|0o666, int(unix.Mkdev(7, 250)))
		}},
		{"directory", func(_ *worker, path string) error { return os.Mkdir(path, 0o777) }},
		{"full directory", func(_ *worker, path string) error { return errors.Join(os.Mkdir(path, 0o777), inside(path)) }},
		{"empty file", func(_ *worker, path string) error { return os.WriteFile(path, nil, 0o666) }},
		{"file of nonsense", func(_ *worker, path string) error { return os.WriteFile(path, []byte("nonsense\x1b[31m\n"), 0o666) }},
	}
}

// outside is a path beside the root that a link may lead to.
func (w *worker) outside(name string) string { return filepath.Join(w.dir, "beside", name) }

// hostileCommands are tried on each root, from a fresh one each.
func hostileCommands(x *subject) map[string]func(root string) []string {
	return map[string]func(root string) []string{
		"inspect": func(root string) []string { return []string{"inspect", root} },
		"verify":  func(root string) []string { return []string{"verify", root} },
		"sweep":   func(root string) []string { return []string{"sweep", root, "--dry-run", "-p", x.policy} },
		"resume":  func(root string) []string { return []string{"resume", root} },
		"compact": x.compact,
	}
}

// template is a root in memory, without its subdirectories.
type template struct {
	name  string
	files map[string][]byte
	open  bool // an interrupted compaction is open
}

func hostileTrials(g *rig) ([]trial, error) {
	x, err := newSubject(g, smallShape())
	if err != nil {
		return nil, err
	}
	templates, err := hostileTemplates(g, x)
	if err != nil {
		return nil, err
	}
	var trials []trial
	random := 200
	if g.long {
		random = 4000
	}
	if g.n > 0 {
		random = g.n
	}
	for i := range random {
		t := templates[i%len(templates)]
		trials = append(trials, trial{"damage to a root that is " + t.name, func(w *worker) error { return w.damaged(x, t) }})
	}
	for i := range random {
		t := templates[i%len(templates)]
		trials = append(trials, trial{"damage to the arena of a root that is " + t.name, func(w *worker) error { return w.damagedArena(x, t) }})
	}
	for _, t := range templates {
		for _, name := range entryNames() {
			for _, f := range foreigners() {
				trials = append(trials, trial{fmt.Sprintf("%s at %s of a root that is %s", f.kind, name, t.name), func(w *worker) error {
					return w.hostile(x, t, name, false, func(path string) error { return f.make(w, path) })
				}})
			}
		}
	}
	return trials, nil
}

// hostileTemplates are a whole root, and one at each interesting moment of a
// compaction: every kind of file is there at one of them.
func hostileTemplates(g *rig, x *subject) ([]template, error) {
	dir, err := os.MkdirTemp(g.tmp, "hostile")
	if err != nil {
		return nil, err
	}
	w := &worker{rig: g, dir: dir}
	root := filepath.Join(dir, "root")
	if err := x.plant(root); err != nil {
		return nil, err
	}
	whole, err := newTemplate("whole", root)
	if err != nil {
		return nil, err
	}
	// After the second journal, rows of the first batch have moved.
	seen := 0
	if _, err := w.traced(root, func(c trace.Call) trace.Action {
		if c.To == "compaction-journal" {
			seen++
		}
		return trace.Action{Kill: seen == 2 && c.IsWrite() && c.Path == "records"}
	}, x.compact(root)...); err != nil {
		return nil, err
	}
	moving, err := newTemplate("half moved", root)
	if err != nil {
		return nil, err
	}
	if moving.open = moving.files["compaction-journal"] != nil && moving.files["compaction-state"] != nil; !moving.open {
		return nil, errors.New("no compaction with a live journal to damage")
	}
	return []template{whole, moving}, os.RemoveAll(dir)
}

func newTemplate(name, root string) (template, error) {
	t := template{name: name, files: map[string][]byte{}}
	entries, err := os.ReadDir(root)
	if err != nil {
		return t, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if t.files[e.Name()], err = os.ReadFile(filepath.Join(root, e.Name())); err != nil {
			return t, err
		}
	}
	return t, nil
}

// lay writes the template anew.
func (t template) lay(root string) error {
	if err := errors.Join(os.RemoveAll(root), os.Mkdir(root, 0o777)); err != nil {
		return err
	}
	for name, content := range t.files {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// hostile puts something at one name, and tries every command on that.
func (w *worker) hostile(x *subject, t template, name string, damaged bool, put func(path string) error) error {
	if err := w.plantEdit(); err != nil {
		return err
	}
	root := filepath.Join(w.dir, "root")
	var wrong []error
	for what, line := range hostileCommands(x) {
		if err := errors.Join(t.lay(root), w.layBeside()); err != nil {
			return err
		}
		path := filepath.Join(root, name)
		if !damaged {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
		if err := put(path); err != nil {
			return err
		}
		if err := w.refusedOrRight(x, t, root, what, line(root)); err != nil {
			wrong = append(wrong, err)
		}
		if w.mutant != nil && len(wrong) > 0 {
			break
		}
	}
	return errors.Join(wrong...)
}

// layBeside makes what links lead to.
func (w *worker) layBeside() error {
	beside := w.outside("directory")
	return errors.Join(os.RemoveAll(filepath.Dir(beside)), os.MkdirAll(beside, 0o777),
		os.WriteFile(w.outside("file"), []byte("not of the root"), 0o666),
		os.WriteFile(filepath.Join(beside, "x61.ids"), []byte("not of the root"), 0o666))
}

// patience is how long a command may take on a small root.
const patience = 20 * time.Second

// refusedOrRight runs one command and looks at what it left.
func (w *worker) refusedOrRight(x *subject, t template, root, what string, args []string) error {
	before, err := takeSnapshot(root)
	if err != nil {
		return err
	}
	beside, err := takeSnapshot(filepath.Dir(w.outside("file")))
	if err != nil {
		return err
	}
	w.patience = patience
	begin := time.Now()
	e, err := w.lace(args...)
	if err != nil {
		return err
	}
	if e.code < 0 && time.Since(begin) >= patience {
		return fmt.Errorf("hangs: %v", e)
	}
	if e.code < 0 || e.code == 2 || strings.Contains(e.err, "goroutine ") {
		return fmt.Errorf("breaks: %v", e)
	}
	if err := errors.Join(controls(e.out), controls(e.err)); err != nil {
		return fmt.Errorf("lace %s: %w", what, err)
	}
	after, err := takeSnapshot(root)
	if err != nil {
		return err
	}
	besideAfter, err := takeSnapshot(filepath.Dir(w.outside("file")))
	if err != nil {
		return err
	}
	if c := beside.changes(besideAfter); len(c) > 0 {
		return fmt.Errorf("changed what is beside the root: %v, %v", c, e)
	}
	changed := before.changes(after)
	readOnly := what == "inspect" || what == "verify" || what == "sweep"
	if len(changed) > 0 && (readOnly || e.code != 0) {
		return fmt.Errorf("changed %v, then %v", changed, e)
	}
	if e.code != 0 || readOnly || what == "resume" && !t.open && len(changed) == 0 {
		return nil // there was nothing to finish
	}
	for _, name := range []string{"record-log", "records"} {
		if info, err := os.Lstat(filepath.Join(root, name)); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no file (%v), but %v", name, err, e)
		}
	}
	if what == "compact" || t.open {
		return x.is(root, x.new)
	}
	return x.is(root, x.old)
}

// damaged changes one file but the arena at random.
func (w *worker) damaged(x *subject, t template) error {
	names := make([]string, 0, len(t.files))
	for name, content := range t.files {
		if len(content) > 0 && name != "records" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	name := names[w.rand.IntN(len(names))]
	hurt := w.hurt(t.files[name], len(t.files[name]))
	err := w.hostile(x, t, name, true, func(path string) error { return os.WriteFile(path, hurt, 0o666) })
	if err != nil {
		return fmt.Errorf("%s, %d bytes: %w", name, len(hurt), err)
	}
	return nil
}

// damagedArena changes bytes of records at random. A compaction may meet a record
// that is damaged when rows are moving already: then the root asks for a resume,
// and one that carries damaged records along finishes it.
func (w *worker) damagedArena(x *subject, t template) error {
	whole := t.files["records"]
	hurt := w.hurt(whole, len(x.old.arena))
	first, last := difference(whole, hurt)
	if first == last {
		return nil
	}
	if err := w.plantEdit(); err != nil {
		return err
	}
	root := filepath.Join(w.dir, "root")
	for what, line := range hostileCommands(x) {
		if err := errors.Join(t.lay(root), w.layBeside(), os.WriteFile(filepath.Join(root, "records"), hurt, 0o666)); err != nil {
			return err
		}
		if err := w.refusedOrCarried(x, t, root, what, line(root), hurt); err != nil {
			return fmt.Errorf("bytes [%d, %d) of the arena, now %d long: lace %s: %w", first, last, len(hurt), what, err)
		}
	}
	return nil
}

// refusedOrCarried runs one command on a root with a damaged arena: it changes
// nothing, or ends with the rows of an uninterrupted run, each whole unless the
// damage is where it lay.
func (w *worker) refusedOrCarried(x *subject, t template, root, what string, args []string, hurt []byte) error {
	before, err := takeSnapshot(root)
	if err != nil {
		return err
	}
	e, err := w.lace(args...)
	if err != nil {
		return err
	}
	if e.code < 0 || e.code == 2 || strings.Contains(e.err, "goroutine ") {
		return fmt.Errorf("breaks: %v", e)
	}
	if err := errors.Join(controls(e.out), controls(e.err)); err != nil {
		return err
	}
	after, err := takeSnapshot(root)
	if err != nil {
		return err
	}
	changed := before.changes(after)
	switch {
	case what == "verify" && e.code == 0 && !t.open && hits(x.old.log, t.files["records"], hurt):
		return errors.New("does not find the damage")
	case what == "resume" && !t.open && len(changed) > 0:
		return fmt.Errorf("changed %v without anything to finish, then %v", changed, e)
	case what == "resume" && !t.open, what == "inspect", what == "verify", what == "sweep":
		if len(changed) > 0 {
			return fmt.Errorf("changed %v, then %v", changed, e)
		}
		return nil
	case e.code != 0 && len(changed) == 0 && !t.open:
		return nil // refused
	case e.code != 0:
		if len(hurt) != len(t.files["records"]) {
			if len(changed) > 0 {
				return fmt.Errorf("changed %v of an arena of a wrong length, then %v", changed, e)
			}
			return nil
		}
		carried, err := w.lace("resume", root, "-q", "--carry-damaged")
		if err != nil {
			return err
		}
		if carried.code != 0 && !x.hitsGlyph(t.files["records"], hurt) {
			return fmt.Errorf("%v, and then %v", e, carried)
		}
		if carried.code != 0 {
			return nil // no store opens a root with such a record
		}
	}
	return x.rowsAre(root, t.files["records"], hurt)
}

// hits reports whether any row of a log has other bytes in one arena than in the
// other.
func hits(log, whole, hurt []byte) bool {
	for ; len(log) > 0; log = log[rowLen:] {
		at, n := place(log)
		if int(at+n) > len(hurt) || !bytes.Equal(whole[at:at+n], hurt[at:at+n]) {
			return true
		}
	}
	return false
}

// hitsGlyph reports whether the damage is in the first line of a row, where it
// lay or where it goes.
func (x *subject) hitsGlyph(whole, hurt []byte) bool {
	for _, log := range [][]byte{x.old.log, x.new.log} {
		for ; len(log) > 0; log = log[rowLen:] {
			at, _ := place(log)
			if !bytes.Equal(whole[at:at+glyphLen], hurt[at:at+glyphLen]) {
				return true
			}
		}
	}
	return false
}

// glyphLen is how long the first line of a record is.
const glyphLen = 55

// place returns the offset and the length that the first row of a log names.
func place(log []byte) (at, n uint64) {
	return binary.LittleEndian.Uint64(log[rowLen-16:]), binary.LittleEndian.Uint64(log[rowLen-8:])
}

// difference returns the range of bytes in which two contents differ.
func difference(a, b []byte) (first, last int) {
	n := min(len(a), len(b))
	for first < n && a[first] == b[first] {
		first++
	}
	last = max(len(a), len(b))
	if len(a) == len(b) {
		for last > first && a[last-1] == b[last-1] {
			last--
		}
	}
	return first, last
}

// rowsAre compares a root with that of an uninterrupted run over an arena that
// was damaged at the start. Committed bytes are trusted, so that a policy decides
// by the damaged bytes about the record that has them, and about no other.
func (x *subject) rowsAre(root string, whole, hurt []byte) error {
	got, err := x.image(root)
	if err != nil {
		return err
	}
	damaged := func(at, n uint64) bool { return !bytes.Equal(whole[at:at+n], hurt[at:at+n]) }
	olds, suspect := map[string]uint64{}, map[string]bool{}
	for _, log := range [][]byte{x.old.log, x.new.log} {
		for ; len(log) > 0; log = log[rowLen:] {
			at, n := place(log)
			if hash := string(log[:rowLen-16]); damaged(at, n) {
				suspect[hash] = true
			}
		}
	}
	for log := x.old.log; len(log) > 0; log = log[rowLen:] {
		olds[string(log[:rowLen-16])], _ = place(log)
	}
	undamaged := func(log []byte) (hashes []string) {
		for ; len(log) > 0; log = log[rowLen:] {
			if hash := string(log[:rowLen-16]); !suspect[hash] {
				hashes = append(hashes, hash)
			}
		}
		return hashes
	}
	if !slices.Equal(undamaged(got.log), undamaged(x.new.log)) {
		return fmt.Errorf("the log has %d rows, that of an uninterrupted run %d, and not only damaged ones differ", len(got.log)/rowLen, len(x.new.log)/rowLen)
	}
	for log := got.log; len(log) > 0; log = log[rowLen:] {
		at, n := place(log)
		old, ok := olds[string(log[:rowLen-16])]
		if !ok {
			return fmt.Errorf("%.48s was never in the root", log)
		}
		row := got.arena[at : at+n]
		fromOld := damaged(old, n) && bytes.Equal(row, hurt[old:old+n])
		stayed := damaged(at, n) && bytes.Equal(row, hurt[at:at+n])
		if !bytes.Equal(row, x.old.arena[old:old+n]) && !fromOld && !stayed {
			return fmt.Errorf("the row of %d bytes at %d, before at %d, is neither whole nor as it was damaged", n, at, old)
		}
	}
	return nil
}

// hurt is a content with one kind of damage within its first bytes.
func (w *worker) hurt(content []byte, within int) []byte {
	b := bytes.Clone(content)
	at := w.rand.IntN(within)
	switch w.rand.IntN(6) {
	case 0:
		b[at] ^= 1 << w.rand.IntN(8)
	case 1:
		b = b[:at]
	case 2:
		clear(b[at:min(len(b), at+512)])
	case 3:
		b = append(b, b[:1+w.rand.IntN(64)%len(b)]...)
	case 4:
		for i := range b[at:min(len(b), at+16)] {
			b[at+i] = byte(w.rand.Uint32())
		}
	case 5:
		return nil
	}
	return b
}
