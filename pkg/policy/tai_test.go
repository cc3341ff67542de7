package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/policy"
)

func TestResolveParam(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	for _, c := range []struct{ value, want string }{
		{"plain", "plain"},
		{"", ""},
		{"TAI:now", "TAI:now"},
		{"tai:now", "1772366437:000000005"},
		{"tai:-90d", "1764590437:000000005"},
		{"tai:-1h", "1772362837:000000005"},
		{"tai:-2m", "1772366317:000000005"},
		{"tai:-0s", "1772366437:000000005"},
		{"tai:2026-01-01T00:00:00Z", "1767225637:000000000"},
		{"tai:2026-01-01T01:00:00+01:00", "1767225637:000000000"},
		{"tai:2026-01-01T00:00:00.123456789Z", "1767225637:123456789"},
		// The leap second at the end of 2016, from both sides.
		{"tai:2016-12-31T23:59:59Z", "1483228835:000000000"},
		{"tai:2017-01-01T00:00:00Z", "1483228837:000000000"},
		{"tai:2017-01-01T00:59:59+01:00", "1483228835:000000000"},
		{"tai:2014-06-15T00:00:00Z", "1402790435:000000000"},
		{"tai:1972-01-01T00:00:00Z", "0063072010:000000000"},
		{"tai:2286-11-20T17:46:02Z", "9999999999:000000000"},
	} {
		got, err := policy.ResolveParam(c.value, now)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.value, got, err, c.want)
		}
	}
	for _, c := range []struct{ value, want string }{
		{"tai:", "not tai:now"},
		{"tai:yesterday", "not tai:now"},
		{"tai:-90", "not tai:now"},
		{"tai:-1.5d", "not tai:now"},
		{"tai:+1d", "not tai:now"},
		{"tai:2026-01-01", "not tai:now"},
		{"tai:2016-12-31T23:59:60Z", "not tai:now"},
		{"tai:1971-12-31T23:59:59Z", "before 1972"},
		{"tai:-999999999d", "before 1972"},
		{"tai:2286-11-20T17:46:03Z", "beyond the ten digits"},
	} {
		if got, err := policy.ResolveParam(c.value, now); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v, want an error with %q", c.value, got, err, c.want)
		}
	}
}
