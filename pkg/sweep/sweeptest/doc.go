// Package sweeptest is the oracle of the sweep: a direct evaluation that scans
// every record, knows no windows, no interning and no order but the text's,
// and random roots and programs to compare with. It must not share code with
// pkg/sweep/eval or pkg/sweep/window.
package sweeptest
