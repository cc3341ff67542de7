package syntax

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a module.
const (
	MaxModuleBytes = 1 << 20
	MaxRules       = 10_000
	MaxArity       = 16 // arguments of a call
)

// maxNesting bounds calls within calls; the built-ins need two.
const maxNesting = 4

// Parse reads a module. It goes on behind an error at the next statement, so
// that the sorted list has all that is wrong; the module then has the
// statements that are right.
func Parse(file string, text []byte) (Module, List) {
	m := Module{File: file}
	if d, bad := checkText(file, text); bad {
		return m, List{d}
	}
	p := &parser{lexer: lexer{src: string(text), file: file, line: 1, column: 1}}
	p.advance()
	for count := 0; p.tok.kind != tokenEnd && len(p.problems) <= MaxDiagnostics; count++ {
		if count == MaxRules {
			p.problem(CodeLimit, p.tok.position, "", fmt.Sprintf("module has more than %d rules", MaxRules), "split it into several policies")
			break
		}
		rule, ok := p.rule()
		if ok {
			m.Rules = append(m.Rules, rule)
			continue
		}
		if rule.Head.Name != "" {
			m.Broken = append(m.Broken, rule.Head.Name)
		}
		p.recover(rule.Position.Line)
	}
	m.Comments = p.comments
	p.problems.Sort()
	return m, p.problems.Limited()
}

// checkText refuses what is not worth lexing.
func checkText(file string, text []byte) (Diagnostic, bool) {
	if len(text) > MaxModuleBytes {
		return Diagnostic{
			Code: CodeLimit, Position: Position{file, 1, 1}, Why: fmt.Sprintf("module is larger than %d bytes", MaxModuleBytes),
			Mend: "split it into several policies",
		}, true
	}
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			return Diagnostic{CodeEncoding, positionAt(file, text, at), string(text[at : at+1]), "module is not UTF-8", "save it as UTF-8"}, true
		}
		at += n
	}
	if norm.NFC.IsNormal(text) {
		return Diagnostic{}, false
	}
	at := commonPrefix(text, norm.NFC.Bytes(text))
	line, _, _ := bytes.Cut(text[at:], []byte("\n"))
	return Diagnostic{
		CodeEncoding, positionAt(file, text, at), strconv.QuoteToASCII(clip(string(line))), "module is not in Unicode normalization form C",
		"normalize it: records hold NFC text, so other text could match nothing",
	}, true
}

// commonPrefix is the length of what two texts share, in whole runes of a.
func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

type parser struct {
	lexer
	tok      token
	previous token
}

func (p *parser) advance() { p.previous, p.tok = p.tok, p.next() }

// recover skips to the next statement: behind the next full stop, or to a word
// at the beginning of a line that does not continue a body, for when the full
// stop itself is missing. startLine is where the broken statement began.
func (p *parser) recover(startLine int) {
	for p.tok.kind != tokenEnd && len(p.problems) <= MaxDiagnostics {
		continues := p.previous.kind == tokenComma || p.previous.kind == tokenIf
		if at := p.tok.position; p.tok.kind == tokenWord && at.Column == 1 && at.Line > startLine && !continues {
			return
		}
		dot := p.tok.kind == tokenDot
		p.advance()
		if dot {
			return
		}
	}
}

// expected reports the token at hand; it returns false for its callers.
func (p *parser) expected(what string) bool {
	switch p.tok.kind {
	case tokenBad: // the lexer has reported it
	case tokenEnd:
		p.problem(CodeSyntax, p.tok.position, "", "unexpected end of file", "expected "+what)
	default:
		p.problem(CodeSyntax, p.tok.position, p.tok.text, "unexpected text", "expected "+what)
	}
	return false
}

func (p *parser) rule() (Rule, bool) {
	r := Rule{Position: p.tok.position}
	start := p.tok.start
	head, ok := p.call(0)
	r.Head = head
	if !ok {
		return r, false
	}
	switch p.tok.kind {
	case tokenDot:
		r.IsFact = true
		p.advance()
	case tokenIf:
		p.advance()
		r.head = p.spanFrom(start)
		if !p.body(&r) {
			return r, false
		}
	default:
		return r, p.expected("':-' or '.'")
	}
	if r.IsFact {
		r.head = p.spanFrom(start)
	}
	return r, true
}

// spanFrom ends with the token that was consumed last.
func (p *parser) spanFrom(start int) span {
	return span{start, p.previous.end, p.previous.position.Line}
}

// body reads what stands behind ":-", the full stop included.
func (p *parser) body(r *Rule) bool {
	if p.tok.kind == tokenWord && p.tok.text == "true" {
		r.IsFact = true
		p.advance()
		if p.tok.kind != tokenDot {
			return p.expected("'.': true stands alone in a body")
		}
		p.advance()
		return true
	}
	for {
		lit, ok := p.literal()
		if !ok {
			return false
		}
		r.Body = append(r.Body, lit)
		if p.previous.kind == tokenDot {
			return true
		}
	}
}

// literal reads a literal and the comma or full stop behind it.
func (p *parser) literal() (Literal, bool) {
	lit := Literal{Position: p.tok.position}
	start := p.tok.start
	if p.tok.kind == tokenWord && p.tok.text == "not" {
		lit.Negated = true
		p.advance()
	}
	call, ok := p.call(0)
	lit.Call = call
	if !ok {
		return lit, false
	}
	if p.tok.kind != tokenComma && p.tok.kind != tokenDot {
		return lit, p.expected("',' or '.'")
	}
	p.advance()
	lit.span = p.spanFrom(start)
	return lit, true
}

func (p *parser) call(depth int) (Call, bool) {
	c := Call{Position: p.tok.position}
	if p.tok.kind != tokenWord {
		return c, p.expected("a predicate name")
	}
	if !p.isName("a predicate") {
		return c, false
	}
	c.Name = p.tok.text
	p.advance()
	return c, p.arguments(&c, depth)
}

// isName reports whether the word at hand may name something.
func (p *parser) isName(what string) bool {
	switch word := p.tok.text; {
	case word == "true" || word == "not":
		p.problem(CodeSyntax, p.tok.position, word, "reserved word where "+what+" is expected",
			"true stands alone in a body, not stands before a predicate; choose another name")
		return false
	case word[0] == '_':
		p.problem(CodeSyntax, p.tok.position, word, "the name of "+what+" begins with a letter", "the anonymous variable is _ alone")
		return false
	}
	return true
}

// arguments reads what follows the name of a call, from '(' to ')'.
func (p *parser) arguments(c *Call, depth int) bool {
	if p.tok.kind != tokenOpen {
		return p.expected("'('")
	}
	if depth > maxNesting {
		p.problem(CodeSyntax, p.tok.position, c.Name, "calls are nested too deeply", "only built-ins take calls as arguments")
		return false
	}
	p.advance()
	if p.tok.kind == tokenClose {
		p.advance()
		return true
	}
	for {
		if len(c.Args) == MaxArity {
			p.problem(CodeLimit, p.tok.position, c.Name, fmt.Sprintf("more than %d arguments", MaxArity), "split the predicate into several")
			return false
		}
		a, ok := p.arg(depth)
		if !ok {
			return false
		}
		c.Args = append(c.Args, a)
		switch p.tok.kind {
		case tokenComma:
			p.advance()
		case tokenClose:
			p.advance()
			return true
		default:
			return p.expected("',' or ')'")
		}
	}
}

func (p *parser) arg(depth int) (Arg, bool) {
	t := p.tok
	a := Arg{Position: t.position}
	switch {
	case t.kind == tokenConstant:
		a.Form, a.Text = Constant, t.value
		p.advance()
	case t.kind != tokenWord:
		return a, p.expected("a variable, a constant in quotes or _")
	case t.text == "_":
		a.Form = Anonymous
		p.advance()
	case !p.isName("a variable"):
		return a, false
	default:
		p.advance()
		if p.tok.kind != tokenOpen {
			a.Form, a.Name = Variable, t.text
			return a, true
		}
		a.Form, a.Call = Nested, &Call{Name: t.text, Position: t.position}
		return a, p.arguments(a.Call, depth+1)
	}
	return a, true
}
