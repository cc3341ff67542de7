package ui

import (
	"fmt"
	"io"
	"time"
)

// Log formats, the values of --log-format.
const (
	LogText = "text"
	LogJSON = "json"
)

// LogFormats lists the values of --log-format.
func LogFormats() []string { return []string{LogText, LogJSON} }

// Level says how much a line of the log matters.
type Level string

// The levels. Details are for whoever asked for them with -v.
const (
	Detail  Level = "detail"
	Info    Level = "info"
	Warning Level = "warning"
	Failure Level = "error"
)

// Line is one line of the log.
type Line struct {
	Level   Level
	Message string
	// Of a Failure: what to do next, the stable name of the error and the exit
	// code of the run. Zero is left out.
	Hint     string
	Kind     string
	ExitCode int
}

// Log writes lines for people, or one JSON object a line for programs, between
// the lines of a progress display. It is safe for concurrent use.
type Log struct {
	progress *Progress
	now      func() time.Time
	json     bool
	quiet    bool
	verbose  bool
}

// NewLog returns a Log of text on the stream of the display.
func NewLog(progress *Progress, now func() time.Time) *Log {
	return &Log{progress: progress, now: now}
}

// Configure sets the format and how much is said: quiet leaves only failures,
// verbose adds details, and quiet wins.
func (l *Log) Configure(format string, quiet, verbose bool) {
	l.json, l.quiet, l.verbose = format == LogJSON, quiet, verbose && !quiet
}

// Verbose reports whether details are written.
func (l *Log) Verbose() bool { return l.verbose }

// Detailf writes a line that -v asks for.
func (l *Log) Detailf(format string, args ...any) {
	if l.verbose {
		l.Write(Line{Level: Detail, Message: fmt.Sprintf(format, args...)})
	}
}

// Infof writes a line.
func (l *Log) Infof(format string, args ...any) {
	l.Write(Line{Level: Info, Message: fmt.Sprintf(format, args...)})
}

// Warnf writes a warning.
func (l *Log) Warnf(format string, args ...any) {
	l.Write(Line{Level: Warning, Message: fmt.Sprintf(format, args...)})
}

// Write writes a line whose level is asked for. What a terminal could take for
// control is escaped; a message is one line.
func (l *Log) Write(line Line) {
	if l.quiet && line.Level != Failure || line.Level == Detail && !l.verbose {
		return
	}
	text := l.text(line)
	if l.json {
		text = l.encode(line)
	}
	// A log that cannot be written to ends nothing.
	l.progress.Print(func(w io.Writer) { _, _ = w.Write(text) })
}

func (l *Log) text(line Line) []byte {
	prefix := "lace: "
	if line.Level == Warning {
		prefix += "warning: "
	}
	text := prefix + OneLine(line.Message) + "\n"
	if line.Hint != "" {
		text += "lace: hint: " + OneLine(line.Hint) + "\n"
	}
	return []byte(text)
}

func (l *Log) encode(line Line) []byte {
	text, err := encodeJSON(struct {
		Event    string `json:"event"`
		Time     string `json:"time"`
		Level    Level  `json:"level"`
		Message  string `json:"message"`
		Kind     string `json:"kind,omitempty"`
		ExitCode int    `json:"exit_code,omitempty"`
		Hint     string `json:"hint,omitempty"`
	}{"log", l.now().UTC().Format(time.RFC3339Nano), line.Level, line.Message, line.Kind, line.ExitCode, line.Hint}, "")
	if err != nil {
		panic("ui: log line: " + err.Error()) // numbers and strings always marshal
	}
	return text
}
