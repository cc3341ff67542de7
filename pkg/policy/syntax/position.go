package syntax

import (
	"cmp"
	"fmt"
)

// Position is a place in a policy file. Line and Column are one-based; Column
// counts runes. A Position without a line means the file as a whole; the zero
// Position is unknown.
type Position struct {
	File   string
	Line   int
	Column int
}

// String renders file:line:column, or the file alone when there is no line. A
// file name with control characters is quoted.
func (p Position) String() string {
	if p.Line == 0 {
		return Quote(p.File)
	}
	return fmt.Sprintf("%s:%d:%d", Quote(p.File), p.Line, p.Column)
}

// Compare orders the places of one file: negative when p comes first.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// positionAt counts the lines and runes before an offset of a text.
func positionAt(file string, text []byte, offset int) Position {
	at := Position{File: file, Line: 1, Column: 1}
	for _, r := range string(text[:offset]) {
		if r == '\n' {
			at.Line++
			at.Column = 1
		} else {
			at.Column++
		}
	}
	return at
}
