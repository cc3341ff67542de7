package terminal

import (
	"slices"
	"testing"
)

func TestScreen(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		lines []string
		start bool
		bad   bool
	}{
		"empty":            {"", nil, true, false},
		"lines":            {"one\r\ntwo\r\n", []string{"one", "two"}, true, false},
		"no return":        {"one\ntwo", []string{"one", "   two"}, false, false},
		"written over":     {"123\rab", []string{"ab3"}, false, false},
		"taken away":       {"123\r   \r", nil, true, false},
		"left":             {"123\r", []string{"123"}, false, false},
		"just fits":        {"12345\r\n", []string{"12345"}, true, false},
		"broken":           {"1234567\r\n", []string{"1234567"}, true, false},
		"broken and over":  {"1234567\rab", []string{"12345ab"}, false, false},
		"erased":           {"123\r\x1b[K", nil, true, false},
		"erased from on":   {"12345\rab\x1b[Kc", []string{"abc"}, false, false},
		"a colour":         {"\x1b[31m", []string{"1m"}, false, true},
		"a bell":           {"a\a", []string{"a"}, false, true},
		"blanks are none":  {"a   \r\n", []string{"a"}, true, false},
		"an empty between": {"a\r\n\r\nb", []string{"a", "", "b"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(5)
			if _, err := s.Write([]byte(c.text)); err != nil {
				t.Fatal(err)
			}
			if got := s.Lines(); !slices.Equal(got, c.lines) {
				t.Errorf("%q, want %q", got, c.lines)
			}
			if s.AtLineStart() != c.start || (s.Err() != nil) != c.bad {
				t.Errorf("at a line start %v, error %v", s.AtLineStart(), s.Err())
			}
		})
	}
	s := New(5)
	if _, err := s.Write([]byte("1\r\n12345")); err != nil {
		t.Fatal(err)
	}
	if s.Resize(3); s.Row() != "123" || s.Rows() != 2 {
		t.Errorf("cut to %q in row %d", s.Row(), s.Rows())
	}
}
