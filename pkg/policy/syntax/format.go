package syntax

import (
	"strings"
	"unicode/utf8"
)

// maxLineRunes is where Format starts to give each literal its own line.
const maxLineRunes = 100

// Format returns a module laid out for people: every statement in canonical
// spelling, on one line, or one literal a line when that is long or comments
// stand between the literals; single blank lines between statements are kept.
// No comment is lost: one behind a literal stays behind it, one on its own line
// stays before what follows, and one inside a literal moves before it.
// Formatting twice changes nothing. A module with errors is not formatted; the
// list has them.
func Format(file string, text []byte) ([]byte, List) {
	m, problems := Parse(file, text)
	if len(problems) > 0 {
		return nil, problems
	}
	f := &formatter{src: string(text), comments: m.Comments}
	for _, r := range m.Rules {
		f.statement(r)
	}
	f.leading(f.take(len(text)+1), "", 0)
	return []byte(f.out.String()), nil
}

// formatter writes statements and deals out the comments, which come in the
// order of the text.
type formatter struct {
	out      strings.Builder
	src      string
	comments []Comment
	// lastLine is the source line on which what was written last ended; 0 at
	// the beginning of the file.
	lastLine int
}

// take removes the comments that start before an offset.
func (f *formatter) take(before int) []Comment {
	n := 0
	for n < len(f.comments) && f.comments[n].start < before {
		n++
	}
	taken := f.comments[:n]
	f.comments = f.comments[n:]
	return taken
}

// trailing removes the comment right behind a span, on its last line.
func (f *formatter) trailing(s span) string {
	if len(f.comments) == 0 || strings.Trim(f.src[s.end:f.comments[0].start], " \t\r") != "" {
		return ""
	}
	text := " " + f.comments[0].Text
	f.comments = f.comments[1:]
	return text
}

// leading writes comments on lines of their own. What stood inside the
// statement that begins on startLine moves up to it, so it opens no gap.
func (f *formatter) leading(comments []Comment, indent string, startLine int) {
	for _, c := range comments {
		line := c.Position.Line
		if startLine > 0 {
			line = min(line, startLine)
		}
		if indent == "" {
			f.gap(line)
		}
		f.out.WriteString(indent + c.Text + "\n")
		f.lastLine = line
	}
}

// gap keeps one of the blank lines before a source line.
func (f *formatter) gap(line int) {
	if f.lastLine > 0 && line > f.lastLine+1 {
		f.out.WriteByte('\n')
	}
}

// unit is a line of a statement that is spread out: the head or a literal.
type unit struct {
	text     string
	leading  []Comment
	trailing string
	span     span
}

func (f *formatter) statement(r Rule) {
	units := f.units(r)
	f.leading(units[0].leading, "", r.Position.Line)
	f.gap(r.Position.Line)
	last := units[len(units)-1]
	if line := PrintRule(r); utf8.RuneCountInString(line) <= maxLineRunes && fitsOneLine(units) || r.IsFact {
		f.out.WriteString(line + last.trailing + "\n")
	} else {
		f.spread(units)
	}
	f.lastLine = last.span.endLine
}

// units cuts a statement and gives each part its comments.
func (f *formatter) units(r Rule) []unit {
	head := unit{text: PrintCall(r.Head) + " :-", leading: f.take(r.head.end), span: r.head}
	head.trailing = f.trailing(r.head)
	units := []unit{head}
	for i, l := range r.Body {
		mark := ","
		if i == len(r.Body)-1 {
			mark = "."
		}
		u := unit{text: PrintLiteral(l) + mark, leading: f.take(l.span.end), span: l.span}
		u.trailing = f.trailing(l.span)
		units = append(units, u)
	}
	return units
}

// fitsOneLine reports whether no comment stands between the parts.
func fitsOneLine(units []unit) bool {
	for i, u := range units {
		if i > 0 && len(u.leading) > 0 || i < len(units)-1 && u.trailing != "" {
			return false
		}
	}
	return true
}

const indent = "    "

func (f *formatter) spread(units []unit) {
	for i, u := range units {
		if i > 0 {
			f.leading(u.leading, indent, 0)
			f.out.WriteString(indent)
		}
		f.out.WriteString(u.text + u.trailing + "\n")
	}
}
