package kept_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/memory"
	"github.com/lace-store/lace/pkg/store/storetest"
)

func TestTally(t *testing.T) {
	b := memory.New()
	var records []store.NewRecord
	var want [2]kept.Total // removed, retained
	set := kept.New(600)
	for i := range 600 {
		data := fmt.Sprintf("%0*d", 1+i%40, i)
		rec := storetest.Blob(data)
		records = append(records, store.NewRecord{Hash: rec.Hash, Len: uint64(len(rec.Bytes)), Body: bytes.NewReader(rec.Bytes)})
		which := i % 3 / 2
		if which == 1 {
			set.Add(store.RecordID(i + 1))
		}
		want[which].Records++
		want[which].Bytes += uint64(len(rec.Bytes))
		want[which].DataBytes += uint64(len(data))
	}
	if _, err := b.Execute(store.StoreRecords{Records: records}); err != nil {
		t.Fatal(err)
	}
	retained, removed, err := kept.Tally(b, set, nil)
	if err != nil || retained != want[1] || removed != want[0] {
		t.Errorf("tally %v, %v, %v, want %v and %v", retained, removed, err, want[1], want[0])
	}
	stop := errors.New("stop")
	pages := 0
	_, _, err = kept.Tally(b, set, func(store.Position) error {
		if pages++; pages == 2 {
			return stop
		}
		return nil
	})
	if err != stop {
		t.Errorf("tally went on after a stop: %v", err)
	}
}
