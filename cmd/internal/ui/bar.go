package ui

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
)

// widestLine bounds the line with the bar: some terminals break what stands in a
// window when it is made narrower than that, and nothing can take back all parts
// of a broken line.
const widestLine = usualColumns - 1

// usualColumns is the width of a terminal that does not tell it.
const usualColumns = 80

// narrowestBar is how few cells a bar is worth drawing in.
const narrowestBar = 8

// eraseLine erases from the cursor to the end of the line.
const eraseLine = "\x1b[K"

// draw puts the line of a phase over what was drawn before. It uses no control
// but the carriage return and eraseLine, and the latter on no terminal that may
// not know it: a run that is killed leaves the cursor, the colours and the other
// lines as they were.
func (p *Progress) draw(of phase, now time.Time) {
	columns := p.terminalColumns()
	// The last column stays free: some terminals go on in the next line when it
	// is written.
	line := barLine(of, now, min(columns-1, widestLine))
	width := utf8.RuneCountInString(line)
	// A display that cannot be written to ends nothing.
	_, _ = fmt.Fprintf(p.w, "\r%s%s", line, p.rest(min(p.drawn, columns)-width))
	p.drawn = width
}

// erase leaves the cursor at the begin of an empty line.
func (p *Progress) erase() {
	if p.drawn == 0 {
		return
	}
	_, _ = fmt.Fprintf(p.w, "\r%s\r", p.rest(min(p.drawn, p.terminalColumns()))) // as draw
	p.drawn = 0
}

// rest erases what stands behind the cursor, which is in so many columns. In a
// window that was made narrower those are all, the last one included.
func (p *Progress) rest(columns int) string {
	if Terminal(p.w) {
		return eraseLine // whatever a terminal made of the line when it was resized
	}
	return strings.Repeat(" ", max(columns, 0))
}

// terminalColumns is how wide the window is, which may be another width every
// time.
func (p *Progress) terminalColumns() int {
	if columns := p.columns(); columns > 0 {
		return columns
	}
	return usualColumns
}

// barLine is the longest form of the line that has room in so many columns.
func barLine(of phase, now time.Time, room int) string {
	gone := seconds(of.elapsed(now))
	if !of.counted {
		return fit(room, fmt.Sprintf("%-8s %s", of.name, gone), of.name)
	}
	counts := fmt.Sprintf("%-8s %s", of.name, of.counts())
	times := gone
	if left, ok := of.remaining(now); ok {
		times += ", " + seconds(left) + " to go"
	}
	percent := fmt.Sprintf("%6s", of.percent())
	cells := room - utf8.RuneCountInString(counts+percent+times) - len("  [] ")
	var forms []string
	if cells >= narrowestBar {
		forms = append(forms, counts+" "+percent+" "+bar(of, cells)+" "+times)
	}
	return fit(room, append(forms,
		counts+" "+percent+" "+times,
		of.name+" "+of.percent()+" "+times,
		of.name+" "+of.percent(),
		of.percent(),
	)...)
}

// bar lets the library draw so many cells and nothing else: it does not know
// where a resumed run began, and so cannot estimate anything.
func bar(of phase, cells int) string {
	const scale = 1000
	var text bytes.Buffer
	b := progressbar.NewOptions(scale,
		progressbar.OptionSetWriter(&text),
		progressbar.OptionSetWidth(cells),
		progressbar.OptionSetTheme(progressbar.ThemeASCII),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
	)
	_ = b.RenderBlank() // memory takes everything
	_ = b.Set(int(float64(of.done) / float64(max(of.total, 1)) * scale))
	drawn := text.String()
	from, to := strings.LastIndexByte(drawn, '['), strings.LastIndexByte(drawn, ']')
	if from < 0 || to < from {
		return ""
	}
	return drawn[from : to+1]
}

// fit returns the first form of a line that has room in so many columns, or
// what has room of the last one. Each column is a character.
func fit(room int, forms ...string) string {
	for _, form := range forms {
		if utf8.RuneCountInString(form) <= room {
			return form
		}
	}
	last := []rune(forms[len(forms)-1])
	return string(last[:min(len(last), max(room, 0))])
}
