package ui

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// Count renders a number with thousands separators.
func Count(n uint64) string { return humanize.Comma(int64(min(n, 1<<63-1))) }

// Size renders a number of bytes: exact below 1 KiB, else with its exact
// count behind it.
func Size(n uint64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%s (%s B)", humanize.IBytes(n), Count(n))
}

// ParseSize reads a number of bytes: 4096, 64MiB, 1.5GB.
func ParseSize(text string) (uint64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil {
		return 0, fmt.Errorf("size %q is not of the form 4096, 64MiB or 1.5GB", text)
	}
	return n, nil
}

// Quote renders text that came from a root or a user, so that no control
// character reaches a terminal: plain when it is harmless, else quoted.
func Quote(text string) string {
	if text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, hostile) {
		return text
	}
	return strconv.Quote(text)
}

// ShellWord renders text as one word of a command line that a shell takes:
// plain when it is harmless, else in single quotes.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%=", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func hostile(r rune) bool {
	return r == '"' || r == '\\' || !unicode.IsPrint(r)
}

// OneLine makes an error message safe for a terminal and a log: control
// characters are escaped, so that it stays on one line.
func OneLine(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
