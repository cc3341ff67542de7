// Package scene reads small roots written as text, with what policies keep of
// them, so that documentation and examples can be run by tests. It knows no
// policy of its own. A scene has one record a line, in order of admission:
//
//	% a comment
//	policy newest.lace pinned.lace
//	param cutoff=tai:-90d
//	+ news     Topic=lobby TAI=tai:-2d
//	- older    Topic=lobby Prev=1@news Ref=@absent
//	+ picture  blob bytes=2000
//	+ inside   blob=news
//	- signed   seal=1 Topic=lobby
//
// The name of a record comes first; + in front of it says that the policies
// retain it, - that they do not. A line makes a Plex with these extra headers.
// In a value, @NAME is the hash of an earlier record behind a space, @absent
// that of one that is not there, and @key1 the key of verifier 1. Group, App,
// Name and TAI are the coordinates; a TAI may have the forms of parameters,
// and ages count from Now. bytes is the length of the data. blob makes a Blob,
// blob=NAME the one inside of that record, seal=1 a Seal by verifier 1 of the
// Plex that the rest of the line makes.
package scene

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/memory"
	"github.com/lace-store/lace/pkg/store/record"
)

// Now is the clock of every scene.
func Now() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Scene is a root, and what some policies keep of it.
type Scene struct {
	Policies []string // files, as the text names them
	Params   map[string]string
	Names    []string // of the records, by id - 1
	Kept     []string // the names of those marked with +
	records  []record.View
	byName   map[string]record.View
}

// Read reads a scene. The error says which line is wrong.
func Read(text string) (*Scene, error) {
	s := &Scene{Params: map[string]string{}, byName: map[string]record.View{}}
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "%") {
			continue
		}
		if err := s.line(words); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return s, nil
}

func (s *Scene) line(words []string) error {
	switch words[0] {
	case "policy":
		s.Policies = append(s.Policies, words[1:]...)
		return nil
	case "param":
		for _, pair := range words[1:] {
			if err := s.Param(pair); err != nil {
				return err
			}
		}
		return nil
	}
	kept := words[0] == "+"
	if kept || words[0] == "-" {
		words = words[1:]
	}
	if len(words) == 0 {
		return fmt.Errorf("a record without a name")
	}
	name := words[0]
	if _, twice := s.byName[name]; twice {
		return fmt.Errorf("a second record %s", name)
	}
	rec, err := s.build(name, words[1:])
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	s.byName[name] = rec
	s.Names, s.records = append(s.Names, name), append(s.records, rec)
	if kept {
		s.Kept = append(s.Kept, name)
	}
	return nil
}

// Param adds a parameter NAME=VALUE.
func (s *Scene) Param(pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		return fmt.Errorf("%q is not NAME=VALUE", pair)
	}
	value, err := s.value(value)
	if err != nil {
		return err
	}
	s.Params[name], err = policy.ResolveParam(value, Now())
	return err
}

// Store returns a store that holds the root.
func (s *Scene) Store() (store.Backend, error) {
	b := memory.New()
	var op store.StoreRecords
	for _, v := range s.records {
		op.Records = append(op.Records, store.NewRecord{Hash: v.Hash(), Len: uint64(len(v.Bytes())), Body: bytes.NewReader(v.Bytes())})
	}
	if _, err := b.Execute(op); err != nil {
		return nil, err
	}
	return b, nil
}
