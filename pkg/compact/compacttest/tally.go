package compacttest

import "fmt"

// Tally is what a matrix tried.
type Tally struct {
	Shapes int
	States int                // roots that were struck, checked and finished
	Depth  [maxEvents + 1]int // of them, by how many events struck them
	Kinds  map[Kind]int       // of them, by the last event
	Next   uint64             // seed of the first shape that was not tried
}

func (t *Tally) add(events []Event) {
	if t.Kinds == nil {
		t.Kinds = map[Kind]int{}
	}
	t.States++
	t.Depth[len(events)]++
	t.Kinds[events[len(events)-1].Kind]++
}

// String is one line of figures.
func (t Tally) String() string {
	text := fmt.Sprintf("%d states of %d shapes: %d struck once, %d twice, %d three times; last by",
		t.States, t.Shapes, t.Depth[1], t.Depth[2], t.Depth[3])
	for _, k := range []Kind{Power, Kill, Lose, Sync, SyncPower} {
		text += fmt.Sprintf(" %s %d", k, t.Kinds[k])
	}
	return text + fmt.Sprintf("; the next shape is %d", t.Next)
}
