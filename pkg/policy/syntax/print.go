package syntax

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
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
	b.WriteString(" :- ")
	if r.IsFact {
		b.WriteString("true")
	}
	for i, l := range r.Body {
		if i > 0 {
			b.WriteString(", ")
		}
		printLiteral(&b, l)
	}
	b.WriteByte('.')
	return b.String()
}

// PrintLiteral returns the canonical text of one literal.
func PrintLiteral(l Literal) string {
	var b strings.Builder
	printLiteral(&b, l)
	return b.String()
}

func printLiteral(b *strings.Builder, l Literal) {
	if l.Negated {
		b.WriteString("not ")
	}
	printCall(b, l.Call)
}

// PrintCall returns the canonical text of a call.
func PrintCall(c Call) string {
	var b strings.Builder
	printCall(&b, c)
	return b.String()
}

func printCall(b *strings.Builder, c Call) {
	b.WriteString(c.Name)
	b.WriteByte('(')
	for i, a := range c.Args {
		if i > 0 {
			b.WriteByte(',')
		}
		printArg(b, a)
	}
	b.WriteByte(')')
}

// PrintArg returns the canonical text of an argument.
func PrintArg(a Arg) string {
	var b strings.Builder
	printArg(&b, a)
	return b.String()
}

func printArg(b *strings.Builder, a Arg) {
	switch a.Form {
	case Anonymous:
		b.WriteByte('_')
	case Variable:
		b.WriteString(a.Name)
	case Constant:
		printConstant(b, a.Text)
	case Nested:
		printCall(b, *a.Call)
	}
}

// PrintConstant returns the canonical spelling of a constant.
func PrintConstant(text string) string {
	var b strings.Builder
	printConstant(&b, text)
	return b.String()
}

// printConstant escapes what cannot be seen. A combining mark behind \n or \t
// is escaped too: as it is, it would compose with the letter of the escape, and
// the text would no longer be in normalization form C.
func printConstant(b *strings.Builder, text string) {
	b.WriteByte('\'')
	letterBefore := false
	for _, r := range text {
		switch {
		case r == '\\' || r == '\'':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case !unicode.IsPrint(r) || letterBefore && !norm.NFC.PropertiesString(string(r)).BoundaryBefore():
			fmt.Fprintf(b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
		letterBefore = r == '\n' || r == '\t'
	}
	b.WriteByte('\'')
}
