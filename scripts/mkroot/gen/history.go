package gen

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/lace-store/lace/pkg/store/record"
)

// taiOffset is TAI - UTC in seconds, as for instants since 2017. A history
// uses it throughout.
const taiOffset = 37

// maxRowLen bounds one row of a history in bytes.
const maxRowLen = 1 << 20

// History is the Source of a repository's history: one Plex per row of a table
// of tab-separated columns,
//
//	seq commit time_utc path prev_blob blob size tag
//
// in ascending seq, where "-" stands for no blob (the path was deleted) and no
// tag. Lines that begin with # are comments. The content of a blob is made up:
// the first size bytes of the BLAKE3 output of its id.
type History struct {
	app    string
	rows   *bufio.Scanner
	line   int
	seq    uint64 // of the row before
	newest map[string]version
	expand *blake3.Hasher
	builder
}

// version is the newest row of a path.
type version struct {
	seq  uint64
	hash record.Hash
}

// row is one row of the table.
type row struct {
	seq, time         uint64
	commit, path, tag string
	blob              string
	size              uint64
}

func (r row) deleted() bool { return r.blob == "-" }

// NewHistory returns the Source of the table in r, as records of that App. It
// keeps one hash for each path, and nothing else that grows with the table.
func NewHistory(r io.Reader, app string) *History {
	rows := bufio.NewScanner(r)
	rows.Buffer(make([]byte, 0, 64<<10), maxRowLen)
	return &History{app: app, rows: rows, newest: make(map[string]version), expand: blake3.New()}
}

// Next implements Source. Errors name the line of the table.
func (h *History) Next(buf []byte) (record.View, error) {
	for h.rows.Scan() {
		h.line++
		if bytes.HasPrefix(h.rows.Bytes(), []byte("#")) {
			continue
		}
		v, err := h.build(buf, h.rows.Text())
		if err != nil {
			return record.View{}, fmt.Errorf("line %d: %w", h.line, err)
		}
		return v, nil
	}
	if err := h.rows.Err(); err != nil {
		return record.View{}, fmt.Errorf("line %d: %w", h.line+1, err)
	}
	return record.View{}, io.EOF
}

func (h *History) build(buf []byte, line string) (record.View, error) {
	r, err := parseRow(line)
	if err != nil {
		return record.View{}, err
	}
	if r.seq <= h.seq {
		return record.View{}, fmt.Errorf("seq %d follows %d", r.seq, h.seq)
	}
	h.seq = r.seq
	if err := h.fill(r); err != nil {
		return record.View{}, err
	}
	c := record.Coordinates{
		Group: "history", App: h.app, Name: r.path,
		TAI: record.FormatTAI(r.time+taiOffset, uint32(r.seq)),
	}
	v, err := h.plex(buf, c, h.headers(r))
	if err != nil {
		return record.View{}, err
	}
	h.newest[r.path] = version{r.seq, v.Hash()}
	return v, nil
}

// headers returns the extra headers of a row, sorted.
func (h *History) headers(r row) []record.Header {
	dir, _, nested := strings.Cut(r.path, "/")
	if !nested {
		dir = "."
	}
	headers := []record.Header{{Name: "Commit", Value: r.commit}, {Name: "Dir", Value: dir}}
	if prev, ok := h.newest[r.path]; ok {
		headers = append(headers, record.Header{Name: "Prev", Value: fmt.Sprintf("%d %s", prev.seq, prev.hash)})
	}
	if r.deleted() {
		headers = append(headers, record.Header{Name: "State", Value: "deleted"})
	}
	if r.tag != "-" {
		headers = append(headers, record.Header{Name: "Tag", Value: r.tag})
	}
	return headers
}

// fill makes the content of a row.
func (h *History) fill(r row) error {
	if r.deleted() {
		h.resize(0)
		return nil
	}
	h.expand.Reset()
	if _, err := h.expand.WriteString(r.blob); err != nil {
		return err
	}
	_, err := io.ReadFull(h.expand.Digest(), h.resize(int(r.size)))
	return err
}

func parseRow(line string) (r row, err error) {
	columns := strings.Split(line, "\t")
	if len(columns) != 8 {
		return r, fmt.Errorf("%d columns, want 8", len(columns))
	}
	r = row{commit: columns[1], path: columns[3], blob: columns[5], tag: columns[7]}
	var errs [3]error
	r.seq, errs[0] = number("seq", columns[0], 999_999_999) // it is the TAI's nanoseconds
	r.time, errs[1] = number("time_utc", columns[2], 9_999_999_999-taiOffset)
	r.size, errs[2] = number("size", columns[6], record.MaxDataLen)
	return r, errors.Join(errs[:]...)
}

func number(name, text string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err == nil && n > most {
		err = fmt.Errorf("greater than %d", most)
	}
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", name, text, err)
	}
	return n, nil
}
