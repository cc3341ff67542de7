package sweeptest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lace-store/lace/pkg/policy/program"
)

// fact is one fact of a record: its arguments, the record first.
type fact struct {
	base program.Base
	args []string
}

const (
	glyphLine = "🖧: "
	hashChars = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"
)

// project returns the facts of complete record bytes, read line by line as the
// format page has them and with nothing of pkg/store/fact.
func project(rec []byte) ([]fact, error) {
	lines := strings.Split(string(rec), "\n")
	hash, found := strings.CutPrefix(lines[0], glyphLine)
	if !found || !isHash(hash) {
		return nil, fmt.Errorf("no record: %q", lines[0])
	}
	facts := []fact{{program.Have, []string{hash}}, {program.Field, []string{hash, ":Type", "0", hash[:1]}}}
	part, ordinal := hash[:1], map[string]int{}
	for _, line := range lines[1:] {
		name, value, found := strings.Cut(line, ": ")
		switch {
		case !found:
			return nil, fmt.Errorf("no header: %q", line)
		case name == "🖧":
			facts = append(facts, fact{program.ContainsRecord, []string{hash, value}})
			part = value[:1]
		case part == "B": // Data-Length, and nothing behind it counts
			return append(facts, fact{program.Field, []string{hash, ":Length", "0", value}}), nil
		case part == "S" && name != "By": // the mark is no field
		default:
			at := strconv.Itoa(ordinal[name])
			ordinal[name]++
			facts = append(facts, fact{program.Field, []string{hash, name, at, value}})
			if data, target, ok := linkOf(value); ok && !strings.Contains(" Group App Name TAI By ", " "+name+" ") {
				facts = append(facts, fact{program.RecordLink, []string{hash, name, at, data, target}})
			}
		}
	}
	return nil, fmt.Errorf("no data length in %s", hash)
}

// linkOf splits a value whose last word is a typed hash.
func linkOf(value string) (data, target string, ok bool) {
	at := strings.LastIndex(value, " ")
	return value[:max(at, 0)], value[at+1:], isHash(value[at+1:])
}

// isHash reports whether text is a canonical typed hash: 43 characters have 258
// bits, the last two of which are zero.
func isHash(text string) bool {
	if len(text) != 48 || !strings.Contains("BPS", text[:1]) || text[1] != '.' || text[45:] != ".H3" {
		return false
	}
	for _, c := range text[2:45] {
		if !strings.ContainsRune(hashChars, c) {
			return false
		}
	}
	return strings.IndexByte(hashChars, text[44])%4 == 0
}
