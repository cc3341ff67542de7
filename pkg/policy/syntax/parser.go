package syntax

import (
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxRules bounds the statements of a module.
const MaxRules = 10_000

// Parse reads a module. It goes on behind an error at the next statement, so
// that the list has all that is wrong; the module then has the statements that
// are right.
func Parse(file string, text []byte) (Module, List) {
	m := Module{File: file}
	at := Position{file, 1, 1}
	refuse := func(code Code, why, mend string) (Module, List) {
		return m, List{{Code: code, Position: at, Why: why, Mend: mend}}
	}
	switch {
	case len(text) > MaxModuleBytes:
		return refuse(CodeLimit, fmt.Sprintf("module is larger than %d bytes", MaxModuleBytes), "split it into several policies")
	case !utf8.Valid(text):
		return refuse(CodeEncoding, "module is not UTF-8", "save it as UTF-8")
	}
	if n := norm.NFC.QuickSpan(text); n < len(text) && !norm.NFC.IsNormal(text) {
		return refuse(CodeEncoding, "module is not in Unicode normalization form C", "normalize it: records hold NFC text")
	}
	p := &parser{lexer: lexer{src: string(text), file: file, line: 1, column: 1}}
	p.advance()
	for p.tok.kind != tokenEnd {
		if len(m.Rules) == MaxRules {
			p.problem(CodeLimit, p.tok.position, "", fmt.Sprintf("module has more than %d rules", MaxRules), "split it into several policies")
			break
		}
		rule, ok := p.rule()
		if !ok {
			p.recover()
			continue
		}
		m.Rules = append(m.Rules, rule)
	}
	return m, p.problems
}

// maxNesting bounds calls within calls; the built-ins need two.
const maxNesting = 4

type parser struct {
	lexer
	tok token
}

func (p *parser) advance() { p.tok = p.next() }

// recover skips to the statement behind the next full stop.
func (p *parser) recover() {
	for p.tok.kind != tokenEnd && p.tok.kind != tokenDot {
		p.advance()
	}
	if p.tok.kind == tokenDot {
		p.advance()
	}
}

func (p *parser) expected(what string) bool {
	if p.tok.kind == tokenBad {
		return false // said already
	}
	text := p.tok.text
	if p.tok.kind == tokenEnd {
		text = "end of file"
	}
	p.problem(CodeSyntax, p.tok.position, text, "unexpected text", "expected "+what)
	return false
}

func (p *parser) rule() (Rule, bool) {
	r := Rule{Position: p.tok.position}
	head, ok := p.call(0)
	if !ok {
		return r, false
	}
	r.Head = head
	switch p.tok.kind {
	case tokenDot:
		r.IsFact = true
	case tokenIf:
		p.advance()
		if !p.body(&r) {
			return r, false
		}
	default:
		return r, p.expected("':-' or '.'")
	}
	if p.tok.kind != tokenDot {
		return r, p.expected("',' or '.'")
	}
	p.advance()
	return r, true
}

func (p *parser) body(r *Rule) bool {
	if p.tok.kind == tokenWord && p.tok.text == "true" {
		r.IsFact = true
		p.advance()
		if p.tok.kind == tokenComma {
			p.problem(CodeSyntax, p.tok.position, "", "true stands alone in a body", "leave it out")
			return false
		}
		return true
	}
	for {
		lit := Literal{Position: p.tok.position}
		if p.tok.kind == tokenWord && p.tok.text == "not" {
			lit.Negated = true
			p.advance()
		}
		call, ok := p.call(0)
		if !ok {
			return false
		}
		lit.Call = call
		r.Body = append(r.Body, lit)
		if p.tok.kind != tokenComma {
			return true
		}
		p.advance()
	}
}

func (p *parser) call(depth int) (Call, bool) {
	c := Call{Position: p.tok.position, Name: p.tok.text}
	if p.tok.kind != tokenWord || p.tok.text[0] == '_' {
		return c, p.expected("a predicate name")
	}
	if c.Name == "true" || c.Name == "not" {
		p.problem(CodeSyntax, c.Position, c.Name, "reserved word", "true stands alone in a body, not stands before a predicate")
		return c, false
	}
	p.advance()
	return c, p.arguments(&c, depth)
}

// arguments reads what follows the name of a call, from '(' to ')'.
func (p *parser) arguments(c *Call, depth int) bool {
	if p.tok.kind != tokenOpen {
		return p.expected("'('")
	}
	p.advance()
	if p.tok.kind == tokenClose {
		p.advance()
		return true
	}
	for {
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
	case t.kind == tokenWord && t.text == "_":
		a.Form = Anonymous
	case t.kind == tokenWord && t.text[0] == '_':
		p.problem(CodeSyntax, t.position, t.text, "a name begins with a letter", "the anonymous variable is _ alone")
		return a, false
	case t.kind == tokenWord && (t.text == "true" || t.text == "not"):
		p.problem(CodeSyntax, t.position, t.text, "reserved word", "rename the variable")
		return a, false
	case t.kind == tokenWord:
		p.advance()
		if p.tok.kind != tokenOpen {
			a.Form, a.Name = Variable, t.text
			return a, true
		}
		if depth == maxNesting {
			return a, p.expected("less nesting")
		}
		call := Call{Name: t.text, Position: t.position}
		ok := p.arguments(&call, depth+1)
		a.Form, a.Call = Nested, &call
		return a, ok
	default:
		return a, p.expected("a variable, a constant in quotes or _")
	}
	p.advance()
	return a, true
}
