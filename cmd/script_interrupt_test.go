package cmd_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/lmdb"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/node"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/store/root"
	"github.com/lace-store/lace/pkg/store/vfs"
	"github.com/lace-store/lace/pkg/store/vfs/faultfs"
	"github.com/lace-store/lace/pkg/store/vfs/osfs"
)

// ending is how an interrupted compaction ended.
type ending struct {
	// phase and event say that it was asked to stop at that event of the phase.
	phase string
	event int
	// death, otherwise, is the call which it died before, counted from 1.
	death func(faultfs.Call) bool
	at    int
}

// endings are one for each step in which a compaction can end, and some more
// where different files are left.
func endings() map[string]ending {
	renamed := func(name string) func(faultfs.Call) bool {
		return func(c faultfs.Call) bool { return c.Op == faultfs.Rename && c.To == name }
	}
	return map[string]ending{
		"A":           {death: renamed(root.Plan), at: 1},
		"A-plan":      {death: renamed(root.State), at: 1},
		"B":           {death: faultfs.On(faultfs.Remove, root.Indexes), at: 1},
		"C":           {phase: "move", event: 3},
		"C-journaled": {death: faultfs.On(faultfs.Sync, root.Records), at: 2},
		"D":           {death: renamed(root.RecordLog), at: 1},
		"reload":      {phase: "reload", event: 1},
		"E": {death: func(c faultfs.Call) bool {
			return c.Path == root.Records && (c.Op == faultfs.Punch || c.Op == faultfs.Truncate)
		}, at: 1},
		"F":      {death: faultfs.On(faultfs.Remove, root.State), at: 1},
		"F-plan": {death: faultfs.On(faultfs.Remove, root.Plan), at: 1},
	}
}

// errDead is what every call returns behind the one that a process died before.
var errDead = errors.New("the process is dead")

// dying passes calls on until the ending's, from which on nothing changes any
// more. The sentinel of a Node root goes all the same, as if by hand.
func (e ending) dying() vfs.FS {
	fsys := faultfs.New(osfs.New(), "")
	seen := 0
	fsys.Inject(faultfs.Fault{Err: errDead, KeepFailing: true, Match: func(c faultfs.Call) bool {
		named := c
		named.Path, named.To = lastName(c.Path), lastName(c.To)
		if seen < e.at && e.death(named) {
			seen++
		}
		return seen == e.at && c.Op.Changing() && named.Path != root.NodeLock
	}})
	return fsys
}

func lastName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// interrupt compacts a root, keeping each second record, until it ends in a
// step, by default in the middle of the move: `interrupt ROOT [STEP]`.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	step := "C"
	if len(args) == 2 {
		step = args[1]
	}
	e, known := endings()[step]
	if neg || len(args) < 1 || len(args) > 2 || !known {
		ts.Fatalf("usage: interrupt ROOT [STEP]")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	fsys, want := vfs.FS(osfs.New()), error(store.Interrupted)
	if e.death != nil {
		fsys, want = e.dying(), errDead
	}
	events := 0
	p, err := profileOf(ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = p.Compact(ctx, ts.MkAbs(args[0]), profile.CompactOptions{
		Open:        profile.Options{FS: fsys},
		JournalSize: 2048,
		Run: compact.Options{Progress: func(p compact.Progress) {
			if p.Phase == e.phase {
				if events++; events == e.event {
					cancel()
				}
			}
		}},
	}, keepOdd)
	if !errors.Is(err, want) {
		ts.Fatalf("the compaction ended with %v, want %v", err, want)
	}
}

// follow asks lace inspect for the next command, runs it and wants this exit
// code; or it wants that there is none: `follow CODE|none ROOT [FILE]`. FILE
// stands in for the word FILE in the command.
func follow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: follow CODE|none ROOT [FILE]")
	}
	exits(ts, false, []string{"0", "lace", "inspect", args[1], "--json"})
	var doc struct {
		Next string `json:"next_command"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	exits(ts, false, []string{"0", "lace", "inspect", args[1]})
	if text := ts.ReadFile("stdout"); !strings.HasSuffix(text, "\n  next        "+doc.Next+"\n") {
		ts.Fatalf("%s does not end with the next command %q:\n%s", "inspect "+args[1], doc.Next, text)
	}
	at := strings.Index(doc.Next, "lace ")
	if args[0] == "none" {
		if doc.Next == "" || at >= 0 {
			ts.Fatalf("the next command is %q, want words that name none", doc.Next)
		}
		return
	}
	if at < 0 {
		ts.Fatalf("the next command is %q, want one that exits %s", doc.Next, args[0])
	}
	words := strings.Fields(doc.Next[at:])
	for i, word := range words {
		if word == "FILE" && len(args) == 3 {
			words[i] = args[2]
		}
	}
	exits(ts, false, append([]string{args[0]}, words...))
}

// keepOdd keeps each second record, the first one too.
func keepOdd(_ context.Context, b store.Backend) (*kept.Set, error) {
	at, err := b.Execute(store.CurrentStorePosition{})
	if err != nil {
		return nil, err
	}
	position := at.(store.PositionResult).Position
	set := kept.New(position)
	for id := store.RecordID(1); id <= store.RecordID(position); id += 2 {
		set.Add(id)
	}
	return set, nil
}

// profileOf is the profile of a root that is there.
func profileOf(dir string) (profile.Profile, error) {
	name, err := root.Detect(osfs.New(), dir)
	for _, p := range []profile.Profile{native.Profile{}, lmdb.Profile{}, node.Profile{}} {
		if p.Name() == name {
			return p, nil
		}
	}
	return nil, errors.Join(err, errors.New("no profile "+name))
}
