package cmd

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/lace-store/lace/pkg/store/vfs"
)

// metric is one gauge in the text format of Prometheus.
type metric struct {
	name, help string
	samples    []sample
}

type sample struct {
	labels string // without the command and the root, which all have
	value  float64
}

// writeMetrics replaces the file atomically, so that a collector never reads
// half of it.
func (s *session) writeMetrics(path string, doc *compactDocument, code int, began time.Time) error {
	err := vfs.Replace(s.fs, filepath.Dir(path), filepath.Base(path), func(w io.Writer) error {
		return renderMetrics(w, doc, metricsOf(doc, code, began, s.now()))
	})
	if err != nil {
		return fmt.Errorf("--metrics-file %s: %w; the run itself ended with exit code %d", path, err, code)
	}
	return nil
}

func gauge(name, help string, value float64) metric {
	return metric{name, help, []sample{{"", value}}}
}

// metricsOf lists what a run is known by. Figures of a run that did not get
// as far as a plan are zero.
func metricsOf(doc *compactDocument, code int, began, ended time.Time) []metric {
	phases := metric{name: "lace_last_run_phase_seconds", help: "Seconds that a phase of the last run took."}
	for _, p := range doc.Phases {
		phases.samples = append(phases.samples, sample{fmt.Sprintf(",phase=%q", p.Name), p.Seconds})
	}
	return []metric{
		gauge("lace_last_run_timestamp_seconds", "When the last run ended, in seconds since 1970.", float64(ended.UnixMilli())/1000),
		gauge("lace_last_run_duration_seconds", "Seconds that the last run took.", ended.Sub(began).Seconds()),
		gauge("lace_last_run_exit_code", "Exit code of the last run: 0 is done, 75 is stopped and to be resumed.", float64(code)),
		gauge("lace_retained_records", "Records that the last run retained.", float64(doc.Retained.Records)),
		gauge("lace_retained_bytes", "Bytes of the records that the last run retained.", float64(doc.Retained.Bytes)),
		gauge("lace_removed_records", "Records that the last run removed.", float64(doc.Removed.Records)),
		gauge("lace_removed_bytes", "Bytes of the records that the last run removed.", float64(doc.Removed.Bytes)),
		gauge("lace_released_bytes", "Bytes that the last run gave back to the file system.", float64(doc.ReleasedBytes)),
		gauge("lace_moved_bytes", "Bytes of records that the last run moved.", float64(doc.MovedBytes)),
		gauge("lace_written_bytes", "Bytes that the last run wrote to any file.", float64(doc.WrittenBytes)),
		phases,
	}
}

func renderMetrics(w io.Writer, doc *compactDocument, metrics []metric) error {
	command := strings.TrimSuffix(strings.TrimPrefix(doc.Schema, "lace."), "/1")
	common := fmt.Sprintf("command=%q,root=%s", command, labelValue(doc.Root))
	for _, m := range metrics {
		if len(m.samples) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s gauge\n", m.name, m.help, m.name); err != nil {
			return err
		}
		for _, s := range m.samples {
			if _, err := fmt.Fprintf(w, "%s{%s%s} %g\n", m.name, common, s.labels, s.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// labelValue quotes text as the exposition format asks: any UTF-8, with three
// characters escaped.
func labelValue(text string) string {
	valid := strings.ToValidUTF8(text, "\uFFFD")
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(valid) + `"`
}
