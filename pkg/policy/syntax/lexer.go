package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a module (design page policy.md).
const (
	MaxModuleBytes   = 1 << 20
	MaxConstantBytes = 4096
)

// Codes of the diagnostics of this package.
const (
	CodeSyntax   Code = "syntax"
	CodeEncoding Code = "encoding"
	CodeLimit    Code = "limit"
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
	tokenIf // :-
	tokenBad
)

// token is one token; text is the source text, value that of a constant.
type token struct {
	kind     tokenKind
	position Position
	text     string
	value    string
}

// lexer cuts a module into tokens and collects what is wrong on the way.
type lexer struct {
	src          string
	at           int
	line, column int
	file         string
	problems     List
}

func (l *lexer) position() Position { return Position{l.file, l.line, l.column} }

func (l *lexer) problem(code Code, at Position, text, why, mend string) {
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

func (l *lexer) peek() rune {
	if l.at >= len(l.src) {
		return -1
	}
	r, _ := utf8.DecodeRuneInString(l.src[l.at:])
	return r
}

// next returns the next token, skipping white space and comments.
func (l *lexer) next() token {
	for {
		switch r := l.peek(); {
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			l.step()
		case r == '%':
			for l.peek() != '\n' && l.peek() != -1 {
				l.step()
			}
		default:
			return l.token()
		}
	}
}

func (l *lexer) token() token {
	start, position := l.at, l.position()
	done := func(kind tokenKind) token { return token{kind: kind, position: position, text: l.src[start:l.at]} }
	r := l.peek()
	switch {
	case r == -1:
		return done(tokenEnd)
	case isWordStart(r) || r == '_':
		for isWordPart(l.peek()) {
			l.step()
		}
		return done(tokenWord)
	case r == '\'':
		value, ok := l.constant()
		t := done(tokenConstant)
		t.value = value
		if !ok {
			t.kind = tokenBad
		}
		return t
	}
	l.step()
	switch r {
	case '(':
		return done(tokenOpen)
	case ')':
		return done(tokenClose)
	case ',':
		return done(tokenComma)
	case '.':
		return done(tokenDot)
	case ':':
		if l.peek() == '-' {
			l.step()
			return done(tokenIf)
		}
	}
	l.problem(CodeSyntax, position, string(r), "unexpected character", "text goes into '...', comments begin with %")
	return done(tokenBad)
}

func isWordStart(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }
func isWordPart(r rune) bool  { return isWordStart(r) || r >= '0' && r <= '9' || r == '_' }

// constant reads a quoted constant. A constant ends on its line.
func (l *lexer) constant() (string, bool) {
	position, start := l.position(), l.at
	l.step()
	var b strings.Builder
	for {
		switch r := l.peek(); r {
		case -1, '\n':
			l.problem(CodeSyntax, position, l.src[start:l.at], "constant without its closing quote", "close it with ' on the same line; write a line break as \\n")
			return "", false
		case '\'':
			l.step()
			return l.checkConstant(b.String(), position)
		case '\\':
			if !l.escape(&b) {
				return "", l.skipConstant()
			}
		default:
			b.WriteRune(l.step())
		}
	}
}

// skipConstant goes behind the closing quote of a constant that is wrong.
func (l *lexer) skipConstant() bool {
	for r := l.peek(); r != -1 && r != '\n'; r = l.peek() {
		l.step()
		if r == '\'' {
			break
		}
	}
	return false
}

func (l *lexer) checkConstant(value string, at Position) (string, bool) {
	switch {
	case len(value) > MaxConstantBytes:
		l.problem(CodeLimit, at, value, fmt.Sprintf("constant of %d bytes", len(value)), fmt.Sprintf("at most %d are allowed", MaxConstantBytes))
		return "", false
	case !norm.NFC.IsNormalString(value):
		l.problem(CodeEncoding, at, value, "constant is not in Unicode normalization form C", "records hold NFC text, so this constant could match nothing; normalize it")
		return "", false
	}
	return value, true
}

// escape reads one escape: \\ \' \n \t \u{hex}.
func (l *lexer) escape(b *strings.Builder) bool {
	position, start := l.position(), l.at
	l.step()
	switch r := l.peek(); r {
	case '\\', '\'':
		b.WriteRune(l.step())
		return true
	case 'n', 't':
		l.step()
		b.WriteByte(map[rune]byte{'n': '\n', 't': '\t'}[r])
		return true
	case 'u':
		rest := l.src[l.at:]
		if end := strings.IndexByte(rest[:min(len(rest), 10)], '}'); strings.HasPrefix(rest, "u{") && end > 2 {
			n, err := strconv.ParseUint(rest[2:end], 16, 32)
			if err == nil && n <= unicode.MaxRune && utf8.ValidRune(rune(n)) {
				for range end + 1 {
					l.step()
				}
				b.WriteRune(rune(n))
				return true
			}
		}
	}
	if r := l.peek(); r != -1 && r != '\n' {
		l.step()
	}
	l.problem(CodeSyntax, position, l.src[start:l.at], "unknown escape", `use \\ \' \n \t or \u{hex}`)
	return false
}
