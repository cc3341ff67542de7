package syntax

import (
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenConstant
	tokenOpen
	tokenClose
	tokenComma
	tokenDot
	tokenIf  // :-
	tokenBad // reported by the lexer already
)

// token is one token: src[start:end), and the value of a constant.
type token struct {
	kind       tokenKind
	position   Position
	start, end int
	text       string
	value      string
}

// lexer cuts a module into tokens. Comments and what is wrong are collected on
// the way.
type lexer struct {
	src          string
	at           int
	line, column int
	file         string
	comments     []Comment
	problems     List
}

func (l *lexer) position() Position { return Position{l.file, l.line, l.column} }

// problem notes what is wrong. What is beyond the limit by more than one would
// not be shown.
func (l *lexer) problem(code Code, at Position, text, why, mend string) {
	if len(l.problems) > MaxDiagnostics {
		return
	}
	l.problems = append(l.problems, Diagnostic{code, at, text, why, mend})
}

// step consumes one rune.
func (l *lexer) step() rune {
	r, n := utf8.DecodeRuneInString(l.src[l.at:])
	l.at += n
	if r == '\n' {
		l.line++
		l.column = 1
	} else {
		l.column++
	}
	return r
}

// end is what peek returns behind the last rune.
const end rune = -1

func (l *lexer) peek() rune {
	if l.at >= len(l.src) {
		return end
	}
	r, _ := utf8.DecodeRuneInString(l.src[l.at:])
	return r
}

// next returns the next token, behind white space and comments.
func (l *lexer) next() token {
	for {
		switch r := l.peek(); {
		case isSpace(r):
			l.step()
		case r == '%':
			l.comment()
		default:
			return l.token()
		}
	}
}

func (l *lexer) comment() {
	c := Comment{Position: l.position(), start: l.at}
	for l.peek() != '\n' && l.peek() != end {
		l.step()
	}
	c.Text = strings.TrimRight(l.src[c.start:l.at], " \t\r")
	l.comments = append(l.comments, c)
}

func (l *lexer) token() token {
	t := token{start: l.at, position: l.position()}
	switch r := l.peek(); {
	case r == end:
		t.kind = tokenEnd
	case isLetter(r) || r == '_':
		t.kind = tokenWord
		for isWordPart(l.peek()) {
			l.step()
		}
	case r == '\'':
		t.kind = tokenConstant
		value, ok := l.constant()
		t.value = value
		if !ok {
			t.kind = tokenBad
		}
	default:
		t.kind = l.mark()
	}
	t.end = l.at
	t.text = l.src[t.start:t.end]
	return t
}

// mark reads punctuation.
func (l *lexer) mark() tokenKind {
	at, start := l.position(), l.at
	switch l.step() {
	case '(':
		return tokenOpen
	case ')':
		return tokenClose
	case ',':
		return tokenComma
	case '.':
		return tokenDot
	case ':':
		if l.peek() == '-' {
			l.step()
			return tokenIf
		}
	case '"':
		l.skipQuoted()
	}
	for startsNothing(l.peek()) {
		l.step()
	}
	text := l.src[start:l.at]
	l.problem(CodeSyntax, at, text, "unexpected text", mendMark(text))
	return tokenBad
}

// skipQuoted goes behind the second of two double quotes on a line.
func (l *lexer) skipQuoted() {
	line, _, _ := strings.Cut(l.src[l.at:], "\n")
	inside, _, closed := strings.Cut(line, "\"")
	if closed {
		for range inside + "\"" {
			l.step()
		}
	}
}

func mendMark(text string) string {
	switch {
	case strings.HasPrefix(text, "\ufeff"):
		return "save the file without a byte order mark"
	case text[0] >= '0' && text[0] <= '9':
		return "write a number in quotes: " + PrintConstant(clip(text))
	case text[0] == '"':
		return "text goes into single quotes"
	case text[0] == ':' || text[0] == '<':
		return "a rule is written head :- literal, literal."
	}
	return "text goes into '...', a comment begins with %"
}

// startsNothing tells the runes that cannot begin a token, so that a run of
// them is one problem and not many.
func startsNothing(r rune) bool {
	return r != end && !isSpace(r) && !isLetter(r) && !strings.ContainsRune("_'%(),.:", r)
}

func isSpace(r rune) bool    { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }
func isLetter(r rune) bool   { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }
func isWordPart(r rune) bool { return isLetter(r) || r >= '0' && r <= '9' || r == '_' }
