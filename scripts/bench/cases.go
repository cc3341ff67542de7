package main

// target is a row of the table of goals: a compaction, and how it may compare.
type target struct {
	set, choice string
	wall        float64 // most wall time over that of the copy
	written     float64 // most bytes written over bytes retained; 0 is any
	anon        uint64  // most anonymous resident memory in MiB; 0 is any
}

func (t target) name() string { return t.set + "-" + t.choice }

var cases = []target{
	{"D1", "half", 1.15, 1.20, 128},
	{"D1", "newest", 1.15, 0, 128},
	{"D1", "drop5", 1.5, 1.5, 128},
	{"D1", "drop95", 1.15, 0, 128},
	{"D2", "half", 1.0, 0, 0},
	{"D3", "half", 1.4, 0, 300},
	{"restic", "half", 0, 0, 0},
}

func targetOf(set, choice string) target {
	for _, t := range cases {
		if t.set == set && t.choice == choice {
			return t
		}
	}
	return target{set: set, choice: choice}
}
