package cmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/sweep"
)

// costBody is what one policy took.
type costBody struct {
	Work    workBody         `json:"work"`
	Shared  costCounts       `json:"shared"`
	Windows []windowCostBody `json:"windows"`
}

// workBody is the work of the dearest window of a policy, together with what
// its windows share: that is what the budget bounds.
type workBody struct {
	Used    uint64 `json:"used"`
	Allowed uint64 `json:"allowed"`
}

// costCounts is the cost of a window, or of what was derived once for all of
// them. Rows has the rows of every relation that was derived, by its name.
type costCounts struct {
	Work        uint64            `json:"work"`
	RecordsRead uint64            `json:"records_read"`
	Rows        map[string]uint64 `json:"rows"`
}

// windowCostBody is the cost of the window (Lower, Upper].
type windowCostBody struct {
	Lower uint64 `json:"lower"`
	Upper uint64 `json:"upper"`
	costCounts
}

// postingsBody is what the store read and built to answer quickly.
type postingsBody struct {
	ListsRead      uint64 `json:"lists_read"`
	ListsBuilt     uint64 `json:"lists_built"`
	TablesBuilt    uint64 `json:"tables_built"`
	Scans          uint64 `json:"scans"`
	RecordsScanned uint64 `json:"records_scanned"`
}

func newPostingsBody(s index.Stats) *postingsBody {
	return &postingsBody{s.ListsRead, s.ListsBuilt, s.TablesBuilt, s.Scans, s.RecordsScanned}
}

func newCostCounts(c sweep.Cost) costCounts {
	rows := c.Rows
	if rows == nil {
		rows = map[string]uint64{}
	}
	return costCounts{Work: c.Work, RecordsRead: c.RecordsRead, Rows: rows}
}

func newCostBody(m sweep.ModuleReport) costBody {
	b := costBody{
		Work:    workBody{Used: m.WorkUsed(), Allowed: m.WorkAllowed},
		Shared:  newCostCounts(m.Shared),
		Windows: []windowCostBody{},
	}
	for _, w := range m.Windows {
		b.Windows = append(b.Windows, windowCostBody{uint64(w.Lower), uint64(w.Upper), newCostCounts(w.Cost)})
	}
	return b
}

// text says what a policy took; verbose, also in which window.
func (b costBody) text(w io.Writer, file string, verbose bool) {
	fmt.Fprintf(w, "  %-13s %s (work %s of %s)\n", "", ui.Quote(file), ui.Count(b.Work.Used), ui.Count(b.Work.Allowed))
	if !verbose {
		return
	}
	if b.Shared.Work > 0 {
		b.Shared.text(w, "for all windows")
	}
	for _, window := range b.Windows {
		window.text(w, fmt.Sprintf("window (%d, %d]", window.Lower, window.Upper))
	}
}

func (c costCounts) text(w io.Writer, of string) {
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(c.Rows)) {
		rows = append(rows, fmt.Sprintf("%s %s", ui.OneLine(name), ui.Count(c.Rows[name])))
	}
	fmt.Fprintf(w, "  %-13s %s: work %s, %s records read, rows: %s\n", "", of, ui.Count(c.Work), ui.Count(c.RecordsRead), strings.Join(rows, ", "))
}
