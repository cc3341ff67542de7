package policy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// taiOffset is TAI - UTC since 2017-01-01, in seconds. Earlier instants had
// other offsets; they are refused rather than guessed.
const taiOffset = 37

// taiSince is the first instant of the current offset.
var taiSince = time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC)

var taiAge = regexp.MustCompile(`^-([0-9]{1,9})([dhms])$`)

// ResolveParam turns the value of a parameter into text: tai:now, tai:-90d
// (also h, m and s) and tai:<RFC 3339 instant> become the 20-character TAI text
// of records; anything else is taken as it is.
func ResolveParam(value string, now time.Time) (string, error) {
	form, isTAI := strings.CutPrefix(value, "tai:")
	if !isTAI {
		return value, nil
	}
	at := now
	if age := taiAge.FindStringSubmatch(form); age != nil {
		n, err := strconv.ParseInt(age[1], 10, 64)
		if err != nil {
			return "", fmt.Errorf("%q: %w", value, err)
		}
		unit := map[string]int64{"d": 86400, "h": 3600, "m": 60, "s": 1}[age[2]]
		at = time.Unix(now.Unix()-n*unit, int64(now.Nanosecond()))
	} else if form != "now" {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, form); err != nil {
			return "", fmt.Errorf("%q is not tai:now, tai:-90d or tai:2026-01-01T00:00:00Z", value)
		}
	}
	if at.Before(taiSince) {
		return "", fmt.Errorf("%q is before 2017, where TAI had other offsets; write the TAI text itself", value)
	}
	seconds := at.Unix() + taiOffset
	if seconds > 9_999_999_999 {
		return "", fmt.Errorf("%q is beyond the 10 digits of TAI text", value)
	}
	return fmt.Sprintf("%010d:%09d", seconds, at.Nanosecond()), nil
}
