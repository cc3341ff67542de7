package program

import (
	"slices"
	"strings"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// What records can hold, as far as a policy can contradict it.

// recordHashBytes is the length of a typed hash: T.<43>.H3.
const recordHashBytes = 48

// mayBeRecord reports whether a term can be the hash of a record. Only the
// frame of a constant is looked at.
func mayBeRecord(t Term) bool {
	if t.Form != Constant {
		return true
	}
	return len(t.Text) == recordHashBytes && strings.ContainsRune("BPS", rune(t.Text[0])) &&
		t.Text[1] == '.' && strings.HasSuffix(t.Text, ".H3")
}

// The fields that every record has. No header can have such a name.
const (
	typeField   = ":Type"
	lengthField = ":Length"
)

// impossibleField returns why no record has such a field, or "".
func impossibleField(a Atom) string {
	name, index, value := a.Args[1], a.Args[2], a.Args[3]
	switch {
	case index.Form == Constant && !IsNumber(index.Text):
		return "the index of a field is a number"
	case name.Form != Constant:
		return ""
	case strings.Contains(name.Text, ":") && name.Text != typeField && name.Text != lengthField:
		return noSuchName(name.Text)
	case name.Text == typeField && value.Form == Constant && !slices.Contains([]string{"B", "P", "S"}, value.Text):
		return "the " + typeField + " of a record is 'B', 'P' or 'S'"
	case name.Text == lengthField && value.Form == Constant && !IsNumber(value.Text):
		return "the " + lengthField + " of a record is a number without sign and leading zeros"
	}
	return ""
}

func noSuchName(name string) string {
	why := "a header has no colon in its name"
	if near := nearest(name, []string{lengthField, typeField}); near != "" {
		why += "; did you mean " + syntax.PrintConstant(near) + "?"
	}
	return why
}

// impossibleLink returns why no record has such a link, or "".
func impossibleLink(a Atom) string {
	name, index := a.Args[1], a.Args[2]
	switch {
	case index.Form == Constant && !IsNumber(index.Text):
		return "the index of a link is a number"
	case name.Form != Constant:
		return ""
	case slices.Contains([]string{"Group", "App", "Name", "TAI", "By", "Mark", "Data-Length"}, name.Text):
		return "a header " + name.Text + " is never a link"
	case strings.Contains(name.Text, ":"):
		return "a link has no colon in its name"
	}
	return ""
}
