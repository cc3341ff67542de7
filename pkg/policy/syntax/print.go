package syntax

import (
	"fmt"
	"strings"
	"unicode"
)

// Print returns the canonical text of a module, without comments: one
// statement a line, single spaces. Parsing it gives the same module.
func Print(m Module) string {
	var b strings.Builder
	for _, r := range m.Rules {
		b.WriteString(PrintRule(r))
		b.WriteByte('\n')
	}
	return b.String()
}

// PrintRule returns the canonical text of one statement.
func PrintRule(r Rule) string {
	var b strings.Builder
	printCall(&b, r.Head)
	if r.IsFact {
		b.WriteString(" :- true.")
		return b.String()
	}
	b.WriteString(" :- ")
	for i, l := range r.Body {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(PrintLiteral(l))
	}
	b.WriteByte('.')
	return b.String()
}

// PrintLiteral returns the canonical text of one literal.
func PrintLiteral(l Literal) string {
	var b strings.Builder
	if l.Negated {
		b.WriteString("not ")
	}
	printCall(&b, l.Call)
	return b.String()
}

func printCall(b *strings.Builder, c Call) {
	b.WriteString(c.Name)
	b.WriteByte('(')
	for i, a := range c.Args {
		if i > 0 {
			b.WriteByte(',')
		}
		switch a.Form {
		case Anonymous:
			b.WriteByte('_')
		case Variable:
			b.WriteString(a.Name)
		case Constant:
			b.WriteString(PrintConstant(a.Text))
		case Nested:
			printCall(b, *a.Call)
		}
	}
	b.WriteByte(')')
}

// PrintConstant returns the canonical spelling of a constant: what is not
// printable is escaped.
func PrintConstant(text string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range text {
		switch {
		case r == '\\' || r == '\'':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case !unicode.IsPrint(r) && r != ' ':
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
