package syntax

import "fmt"

// Position is a place in a policy file. Line and Column are one-based; Column
// counts runes. The zero Position is unknown.
type Position struct {
	File   string
	Line   int
	Column int
}

// String renders file:line:column.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }
