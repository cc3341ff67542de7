package ui_test

import (
	"testing"

	"github.com/lace-store/lace/cmd/internal/ui"
)

func TestHostileTextIsQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"plain":          "plain",
		"Über 🖧":         "Über 🖧",
		"":               `""`,
		"a\x1b[31mred":   `"a\x1b[31mred"`,
		"two\nlines":     `"two\nlines"`,
		"bad\xffutf8":    `"bad\xffutf8"`,
		"bidi\u202etxet": `"bidi\u202etxet"`,
		`quo"te`:         `"quo\"te"`,
		"c1\u009bcsi":    `"c1\u009bcsi"`,
	} {
		if got := ui.Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestErrorsStayOnOneLine(t *testing.T) {
	if got, want := ui.OneLine("open \x1b[2J\nroot: no"), `open \x1b[2J\nroot: no`; got != want {
		t.Errorf("OneLine = %q, want %q", got, want)
	}
}

// A shell gives a word back as it was.
func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"/srv/lace-1.0": "/srv/lace-1.0",
		"a b":           "'a b'",
		"it's":          `'it'\''s'`,
		"$HOME;#*":      "'$HOME;#*'",
		`C:\roots`:      `'C:\roots'`,
		"":              "''",
		"é":             "'é'",
	} {
		if got := ui.ShellWord(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]uint64{"4096": 4096, "64MiB": 64 << 20, "1.5GB": 1_500_000_000, "0": 0} {
		if got, err := ui.ParseSize(in); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "x", "-1", "1QB", "99999999999999999999"} {
		if got, err := ui.ParseSize(in); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", in, got)
		}
	}
}
