package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/lace-store/lace/pkg/policy/syntax"
)

// textCells bounds what the text shows of one value, in runes; the structure
// has all of it.
const textCells = 120

// WriteText writes explanations for people. A record that is held is written
// #id; other values are constants of the policy language. No control character
// of a root or a policy reaches w.
func WriteText(w io.Writer, records []Record) error {
	t := &writer{w: w}
	for _, r := range records {
		outcome := "removed"
		if r.Retained {
			outcome = "retained"
		}
		t.line(0, "#%d %s: %s", r.ID, r.Hash, outcome)
		for _, m := range r.Modules {
			t.module(m)
		}
	}
	return t.err
}

type writer struct {
	w   io.Writer
	err error
}

func (t *writer) line(indent int, format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, "%s"+format+"\n", append([]any{strings.Repeat("  ", indent)}, args...)...)
	}
}

func (t *writer) module(m Module) {
	file := syntax.Quote(m.File)
	switch {
	case m.Selected:
		t.line(1, "%s selects it:", file)
		t.derivation(2, m.Derivation)
	case len(m.Failures) == 0 && m.Cut == "":
		t.line(1, "%s selects nothing", file)
	default:
		t.line(1, "%s does not select it:", file)
		t.failures(2, m.Failures, m.Cut)
	}
}

func (r Rule) String() string {
	return fmt.Sprintf("%s:%d: %s", syntax.Quote(r.File), r.Line, r.Text)
}

func (t *writer) derivation(indent int, d *Derivation) {
	t.line(indent, "%s by %s", short(d.Conclusion.String()), d.Rule)
	t.binding(indent+1, d.Binding, "")
	for _, f := range d.Premises {
		t.finding(indent+1, f)
	}
}

func (t *writer) binding(indent int, binding []Variable, behind string) {
	if len(binding) > 0 {
		texts := make([]string, len(binding))
		for i, v := range binding {
			texts[i] = short(v.String())
		}
		t.line(indent, "where %s%s", strings.Join(texts, ", "), behind)
	}
}

// finding writes a literal, what there is to say about it, and what is behind
// that.
func (t *writer) finding(indent int, f Finding) {
	mark := "+"
	if !f.Holds {
		mark = "-"
	}
	says := short(f.Says)
	if f.Atom != nil && (f.Derivation == nil || f.Kind == TopK) {
		says += ": " + short(f.Atom.String())
	}
	if f.Cut != "" && f.Failures == nil {
		says += " (" + f.Cut + ")"
	}
	t.line(indent, "%s %s: %s", mark, short(f.Literal), says)
	if f.Derivation != nil {
		t.derivation(indent+1, f.Derivation)
	}
	if f.Failures != nil {
		t.failures(indent+1, f.Failures, f.Cut)
	}
}

func (t *writer) failures(indent int, list []Failure, cut string) {
	for _, f := range list {
		t.line(indent, "not %s by %s", short(f.Goal.String()), f.Rule)
		t.binding(indent+1, f.Binding, others(f.Bindings))
		t.finding(indent+1, f.Failed)
	}
	if cut != "" {
		t.line(indent, "(further rules are left out: %s)", cut)
	}
}

// others says that a binding is one of several.
func others(bindings int) string {
	switch {
	case bindings < 2:
		return ""
	case bindings < MaxBindings:
		return fmt.Sprintf(", one of %d bindings that all fail", bindings)
	}
	return fmt.Sprintf(", one of at least %d bindings that all fail", MaxBindings)
}

// short cuts a text that is long.
func short(text string) string {
	cells := 0
	for i := range text {
		if cells++; cells > textCells {
			return fmt.Sprintf("%s... (%d bytes)", text[:i], len(text))
		}
	}
	return text
}
