package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/lace-store/lace/pkg/compact"
)

// section is a part of docs/performance.md that is written from measurements:
// the text between the lines <!-- bench:NAME --> and <!-- bench:end -->.
type section struct{ name, text string }

func replaceSections(path string, sections []section) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(raw)
	for _, s := range sections {
		begin := "<!-- bench:" + s.name + " -->\n"
		const end = "<!-- bench:end -->\n"
		head, rest, found := strings.Cut(text, begin)
		_, tail, closed := strings.Cut(rest, end)
		if !found || !closed {
			return fmt.Errorf("%s: no section %q that ends", path, s.name)
		}
		text = head + begin + s.text + end + tail
	}
	return os.WriteFile(path, []byte(text), 0o666)
}

// machine names the machine as far as a reader needs it.
func machine(dir string, pairs int) string {
	return fmt.Sprintf("%d cores, %d GiB of memory, %s; %d interleaved pairs.\n", runtime.NumCPU(), (memoryOf()+1<<29)>>30, fileSystemOf(dir), pairs)
}

// timeTable compares the wall times.
func timeTable(outcomes []outcome) string {
	var w strings.Builder
	w.WriteString("| data | what stays | caches | lace s (min-max) | copy s (min-max) | ratio (min-max) | target | verdict |\n")
	w.WriteString("|---|---|---|---|---|---|---|---|\n")
	for _, o := range outcomes {
		ratio, goal := spreadOf(o.ratios), targetOf(o.set.name, o.choice.name).wall
		fmt.Fprintf(&w, "| %s | %s | %s | %s | %s | %.2f (%.2f-%.2f) | %s |\n", o.set.name, o.choice.text, o.temperature(),
			seconds(o.lace), seconds(o.copy), ratio.median, ratio.least, ratio.most, verdict(ratio.median, goal, "<= %.2f"))
	}
	return w.String()
}

// verdict is the goal and whether a measured value reaches it.
func verdict(got, goal float64, form string) string {
	switch {
	case goal == 0:
		return "- | -"
	case got <= goal:
		return fmt.Sprintf(form+" | reached", goal)
	}
	return fmt.Sprintf(form+" | missed by %.0f%%", goal, (got/goal-1)*100)
}

func seconds(runs []measured) string {
	walls := make([]time.Duration, len(runs))
	for i, r := range runs {
		walls[i] = r.wall
	}
	s := spreadOf(walls)
	return fmt.Sprintf("%.2f (%.2f-%.2f)", s.median.Seconds(), s.least.Seconds(), s.most.Seconds())
}

// costTable compares what the runs took besides time.
func costTable(outcomes []outcome) string {
	var w strings.Builder
	w.WriteString("| data | what stays | caches | CPU s | anonymous MiB | target | verdict | resident MiB | written / retained | target | verdict | extra disk MiB | target | verdict |\n")
	w.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, o := range outcomes {
		goal := targetOf(o.set.name, o.choice.name)
		anon := median(o.lace, func(m measured) float64 { return float64(m.anon) / (1 << 20) })
		written := func(m measured) float64 { return float64(m.written) / float64(o.retained) }
		fmt.Fprintf(&w, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", o.set.name, o.choice.text, o.temperature(),
			both(o, "%.2f", func(m measured) float64 { return m.cpu.Seconds() }),
			both(o, "%.0f", func(m measured) float64 { return float64(m.anon) / (1 << 20) }), verdict(anon, float64(goal.anon), "<= %.0f"),
			both(o, "%.0f", func(m measured) float64 { return float64(m.resident) / (1 << 20) }),
			both(o, "%.2f", written), verdict(median(o.lace, written), goal.written, "<= %.2f"),
			both(o, "%.0f", extra), verdict(median(o.lace, extra), o.headroom(), "<= %.0f"))
	}
	return w.String()
}

// extra is the peak of extra disk in MiB.
func extra(m measured) float64 { return float64(m.extra) / (1 << 20) }

// headroom is the most extra disk that a compaction may take, in MiB: the plan
// and the new record-log, 136 bytes for each retained record, and a journal.
func (o outcome) headroom() float64 {
	return float64(136*o.document.Retained.Records+compact.DefaultJournalSize) / (1 << 20)
}

// both shows a figure of lace, and behind it that of the copy.
func both(o outcome, form string, of func(measured) float64) string {
	return fmt.Sprintf(form+", copy "+form, median(o.lace, of), median(o.copy, of))
}

func median(runs []measured, of func(measured) float64) float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	return spreadOf(values).median
}

// phases says where the last run of lace spent its time.
func (o outcome) phases() string {
	var parts []string
	for _, p := range o.document.Phases {
		parts = append(parts, fmt.Sprintf("%s %.2f s", p.Name, p.Seconds))
	}
	return strings.Join(parts, ", ")
}
