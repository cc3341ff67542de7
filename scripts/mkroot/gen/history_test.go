package gen

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store/fact"
	"github.com/lace-store/lace/pkg/store/record"
)

const table = "# seq\tcommit\ttime_utc\tpath\tprev_blob\tblob\tsize\ttag\n" +
	"1\taaaa\t1387563974\tREADME\t-\tb1\t10\t-\n" +
	"2\tbbbb\t1387563975\tcmd/lace/main.go\t-\tb2\t0\tv1\n" +
	"5\tcccc\t1387563976\tREADME\tb1\t-\t0\t-\n" +
	"7\tdddd\t1387563977\tREADME\t-\tb1\t3\t-\n"

func TestHistory(t *testing.T) {
	records := all(t, NewHistory(strings.NewReader(table), "x"))
	var headers, data []string
	for _, rec := range records {
		v, err := record.ParseStrict(rec)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for name, value := range v.PlexHeaders().All() {
			b.WriteString(string(name) + ": " + string(value) + "\n")
		}
		headers, data = append(headers, b.String()), append(data, string(v.Data()))
	}
	hash := func(i int) string { return string(records[i][6:54]) }
	want := []string{
		"Group: history\nApp: x\nName: README\nTAI: 1387564011:000000001\nCommit: aaaa\nDir: .\n",
		"Group: history\nApp: x\nName: cmd/lace/main.go\nTAI: 1387564012:000000002\nCommit: bbbb\nDir: cmd\nTag: v1\n",
		"Group: history\nApp: x\nName: README\nTAI: 1387564013:000000005\nCommit: cccc\nDir: .\nPrev: 1 " + hash(0) + "\nState: deleted\n",
		"Group: history\nApp: x\nName: README\nTAI: 1387564014:000000007\nCommit: dddd\nDir: .\nPrev: 5 " + hash(2) + "\n",
	}
	for i := range want {
		if headers[i] != want[i] {
			t.Errorf("record %d:\n%s\nwant:\n%s", i, headers[i], want[i])
		}
	}
	// The output of BLAKE3 on "b1" and its prefix, and nothing for a deletion.
	if len(data[0]) != 10 || data[3] != data[0][:3] || data[1] != "" || data[2] != "" {
		t.Errorf("data %q", data)
	}
}

func TestHistoryRefuses(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"columns":     {"1\ta\t2\tp\t-\tb\t1", "line 1: 7 columns"},
		"seq":         {"x\ta\t2\tp\t-\tb\t1\t-", `line 1: seq "x"`},
		"seq zero":    {"0\ta\t2\tp\t-\tb\t1\t-", "line 1: seq 0 follows 0"},
		"seq great":   {"1000000000\ta\t2\tp\t-\tb\t1\t-", "greater than 999999999"},
		"time":        {"1\ta\t-2\tp\t-\tb\t1\t-", `time_utc "-2"`},
		"size":        {"1\ta\t2\tp\t-\tb\t33554433\t-", "greater than 33554432"},
		"empty path":  {"1\ta\t2\t\t-\tb\t1\t-", `header "Name" has no value`},
		"seq repeats": {"1\ta\t2\tp\t-\tb\t1\t-\n1\ta\t2\tp\t-\tb\t1\t-", "line 2: seq 1 follows 1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHistory(strings.NewReader(c.line), "x")
			var err error
			for err == nil {
				_, err = h.Next(nil)
			}
			if err == io.EOF || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// sums counts records and their data.
type sums struct{ records, bytes int }

// kept is what the known answers need of one record.
type kept struct {
	name, prev      string
	deleted, tagged bool
	data            int
}

// TestKnownAnswers counts the records of the real histories under each example
// policy, by a program that knows no policies.
func TestKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		app  string
		want [5]sums
	}{
		{"bbolt", [5]sums{{3_045, 28_559_070}, {751, 2_753_417}, {932, 14_111_719}, {158, 770_945}, {1_665, 16_604_482}}},
		{"restic", [5]sums{{49_886, 843_036_399}, {33_093, 419_507_999}, {286, 3_899_120}, {1_391, 8_588_097}, {33_378, 423_407_112}}},
	} {
		t.Run(c.app, func(t *testing.T) {
			if c.app == "restic" && raceDetector {
				t.Skip("843 MB to hash take too long under the race detector; run without it")
			}
			order, records := readHistory(t, c.app)
			if got := answers(order, records); got != c.want {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

// readHistory returns the hashes of a real history's records in order, and
// what is known of each.
func readHistory(t *testing.T, app string) (order []string, records map[string]kept) {
	path := "../../../../shared/data/" + app + "-history.tsv.gz"
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no shared data: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	records = make(map[string]kept)
	h := NewHistory(z, app)
	var buf []byte
	for {
		v, err := h.Next(buf)
		if err == io.EOF {
			return order, records
		}
		if err != nil {
			t.Fatal(err)
		}
		buf = v.Bytes()
		k := kept{data: len(v.Data())}
		if err := fact.Visit(v.Bytes(), &k); err != nil {
			t.Fatal(err)
		}
		records[v.Hash().String()] = k
		order = append(order, v.Hash().String())
	}
}

// Field implements fact.Visitor.
func (k *kept) Field(name []byte, _ int, value []byte) bool {
	switch string(name) {
	case "Name":
		k.name = string(value)
	case "State":
		k.deleted = string(value) == "deleted"
	case "Tag":
		k.tagged = true
	}
	return true
}

// Link implements fact.Visitor.
func (k *kept) Link(name []byte, _ int, _, target []byte) bool {
	if string(name) == "Prev" {
		k.prev = string(target)
	}
	return true
}

// Contains implements fact.Visitor.
func (k *kept) Contains([]byte) bool { return true }

// answers returns the sums of everything, of the newest three of each name, of
// what tagged records reach, of what is current, and of the second and third.
func answers(order []string, records map[string]kept) (sum [5]sums) {
	newest, reached, superseded := map[string]bool{}, map[string]bool{}, map[string]bool{}
	rank := map[string]int{}
	for i := len(order) - 1; i >= 0; i-- {
		k := records[order[i]]
		if rank[k.name]++; rank[k.name] <= 3 {
			newest[order[i]] = true
		}
		superseded[k.prev] = true
		for h := order[i]; k.tagged && h != "" && !reached[h]; h = records[h].prev {
			reached[h] = true
		}
	}
	for _, h := range order {
		k := records[h]
		for i, in := range []bool{true, newest[h], reached[h], !superseded[h] && !k.deleted, newest[h] || reached[h]} {
			if in {
				sum[i].records++
				sum[i].bytes += k.data
			}
		}
	}
	return sum
}
