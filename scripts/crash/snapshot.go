//go:build linux && amd64

package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// snapshot is everything in a directory, without following or opening anything
// but regular files: a line for each entry, by its path.
type snapshot map[string]string

func takeSnapshot(dir string) (snapshot, error) {
	s := snapshot{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		line := info.Mode().Type().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d bytes %x", len(b), sha256.Sum256(b))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " to " + target
		}
		s[name] = line
		return nil
	})
	return s, err
}

// changes names what differs.
func (s snapshot) changes(now snapshot) []string {
	var names []string
	for name, line := range s {
		switch other, ok := now[name]; {
		case !ok:
			names = append(names, name+" is gone")
		case other != line:
			names = append(names, fmt.Sprintf("%s was %.40s, is %.40s", name, line, other))
		}
	}
	for name := range now {
		if _, ok := s[name]; !ok {
			names = append(names, name+" is new")
		}
	}
	slices.Sort(names)
	return names
}

// controls says where a text has a control character other than a line's end,
// or bytes that are no UTF-8.
func controls(text string) error {
	if at := strings.IndexFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\ufffd'
	}); at >= 0 {
		return fmt.Errorf("a control character at byte %d of %.300q", at, text)
	}
	return nil
}
