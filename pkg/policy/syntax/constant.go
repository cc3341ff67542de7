package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxConstantBytes bounds the value of a constant.
const MaxConstantBytes = 4096

// constant reads a constant in quotes and reports whether it is a good one. A
// constant ends on its line, so that a forgotten quote spoils only that line.
func (l *lexer) constant() (string, bool) {
	position, start := l.position(), l.at
	l.step()
	var b strings.Builder
	good := true
	for {
		switch r := l.peek(); r {
		case end, '\n':
			l.problem(CodeSyntax, position, strings.TrimRight(l.src[start:l.at], "\r"), "constant without its closing quote",
				`close it with ' on the same line; a line break is written \n`)
			return "", false
		case '\'':
			l.step()
			return b.String(), good && l.checkConstant(b.String(), position)
		case '\\':
			value, ok := l.escape()
			b.WriteRune(value)
			good = good && ok
		default:
			b.WriteRune(l.step())
		}
	}
}

func (l *lexer) checkConstant(value string, at Position) bool {
	switch {
	case len(value) > MaxConstantBytes:
		l.problem(CodeLimit, at, value, fmt.Sprintf("constant of %d bytes", len(value)),
			fmt.Sprintf("at most %d are allowed", MaxConstantBytes))
		return false
	case !norm.NFC.IsNormalString(value):
		l.problem(CodeEncoding, at, strconv.QuoteToASCII(clip(value)), "constant is not in Unicode normalization form C",
			"records hold NFC text, so it could match nothing: write the composed characters")
		return false
	}
	return true
}

// escape reads one escape: \\ \' \n \t \u{hex}.
func (l *lexer) escape() (rune, bool) {
	position, start := l.position(), l.at
	l.step()
	switch r := l.peek(); r {
	case '\\', '\'':
		return l.step(), true
	case 'n':
		l.step()
		return '\n', true
	case 't':
		l.step()
		return '\t', true
	case 'u':
		if value, ok := l.codePoint(); ok {
			return value, true
		}
	}
	if r := l.peek(); r != end && r != '\n' {
		l.step()
	}
	l.problem(CodeSyntax, position, l.src[start:l.at], "unknown escape", `use \\ \' \n \t or \u{hex} with a Unicode code point`)
	return utf8.RuneError, false
}

// maxCodePoint bounds u{hex}, leading zeros included.
const maxCodePoint = len("u{0010ffff}")

// codePoint reads u{hex}; nothing is consumed when it is not one.
func (l *lexer) codePoint() (rune, bool) {
	rest := l.src[l.at:min(len(l.src), l.at+maxCodePoint)]
	digits, ok := strings.CutPrefix(rest, "u{")
	digits, _, closed := strings.Cut(digits, "}")
	if !ok || !closed {
		return 0, false
	}
	value, err := strconv.ParseUint(digits, 16, 31)
	if err != nil || !utf8.ValidRune(rune(value)) {
		return 0, false
	}
	for range len("u{}") + len(digits) {
		l.step()
	}
	return rune(value), true
}
