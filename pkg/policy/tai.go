package policy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ResolveParam turns the value of a parameter into text: tai:now, tai:-90d
// (also h, m and s) and tai:<RFC 3339 instant> become the 20-character TAI text
// of records, <10 digits>:<9 digits>, seconds since 1970 and nanoseconds;
// anything else is taken as it is. now is the clock of the run, read once by
// the caller; the evaluation itself reads none.
func ResolveParam(value string, now time.Time) (string, error) {
	form, isTAI := strings.CutPrefix(value, "tai:")
	if !isTAI {
		return value, nil
	}
	at, err := instant(form, now)
	if err != nil {
		return "", fmt.Errorf("%q: %w", value, err)
	}
	text, err := taiText(at)
	if err != nil {
		return "", fmt.Errorf("%q: %w", value, err)
	}
	return text, nil
}

func instant(form string, now time.Time) (time.Time, error) {
	if form == "now" {
		return now, nil
	}
	if age := regexp.MustCompile(`^-([0-9]{1,9})([dhms])$`).FindStringSubmatch(form); age != nil {
		n, err := strconv.ParseInt(age[1], 10, 64)
		if err != nil {
			return time.Time{}, err
		}
		return time.Unix(now.Unix()-n*unitSeconds(age[2]), int64(now.Nanosecond())), nil
	}
	at, err := time.Parse(time.RFC3339Nano, form)
	if err != nil {
		return time.Time{}, fmt.Errorf("not tai:now, tai:-90d or tai:2026-01-01T00:00:00Z (an age has d, h, m or s behind its number)")
	}
	return at, nil
}

func unitSeconds(unit string) int64 {
	switch unit {
	case "d":
		return 24 * 60 * 60
	case "h":
		return 60 * 60
	case "m":
		return 60
	}
	return 1
}

// maxSeconds is what ten digits hold.
const maxSeconds = 9_999_999_999

func taiText(at time.Time) (string, error) {
	offset, ok := taiOffset(at)
	if !ok {
		return "", fmt.Errorf("before 1972 TAI and UTC did not differ by whole seconds; write the TAI text itself")
	}
	seconds := at.Unix() + offset
	if seconds > maxSeconds {
		return "", fmt.Errorf("beyond the ten digits of TAI text")
	}
	return fmt.Sprintf("%010d:%09d", seconds, at.Nanosecond()), nil
}

// taiOffset returns TAI - UTC in seconds. It is 10 since 1972 and one more
// since each leap second; none is announced after that of 2016.
func taiOffset(at time.Time) (int64, bool) {
	if at.Before(time.Date(1972, 1, 1, 0, 0, 0, 0, time.UTC)) {
		return 0, false
	}
	offset := int64(10)
	for _, day := range []string{
		"1972-07-01", "1973-01-01", "1974-01-01", "1975-01-01", "1976-01-01", "1977-01-01", "1978-01-01",
		"1979-01-01", "1980-01-01", "1981-07-01", "1982-07-01", "1983-07-01", "1985-07-01", "1988-01-01",
		"1990-01-01", "1991-01-01", "1992-07-01", "1993-07-01", "1994-07-01", "1996-01-01", "1997-07-01",
		"1999-01-01", "2006-01-01", "2009-01-01", "2012-07-01", "2015-07-01", "2017-01-01",
	} {
		// Both are UTC, and the text of a date sorts as the dates do.
		if at.UTC().Format(time.DateOnly) >= day {
			offset++
		}
	}
	return offset, true
}
