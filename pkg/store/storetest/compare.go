package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/lace-store/lace/pkg/store"
)

// differ says how an answer differs from the one of the oracle, "" when it
// does not. Of errors only the kind counts.
func differ(got store.Result, err error, want store.Result, wantErr error) string {
	if err != nil || wantErr != nil {
		return differErrors(got, err, wantErr)
	}
	switch want := want.(type) {
	case store.FoundResult:
		got, ok := got.(store.FoundResult)
		if !ok {
			return fmt.Sprintf("answered with %T", got)
		}
		if got.Complete != want.Complete || got.ResumeAfter != want.ResumeAfter {
			return fmt.Sprintf("found ids %v, complete %t, resume after %d; want ids %v, complete %t, resume after %d",
				ids(got.Records), got.Complete, got.ResumeAfter, ids(want.Records), want.Complete, want.ResumeAfter)
		}
		return differRecords(got.Records, want.Records)
	case store.LoadedResult:
		got, ok := got.(store.LoadedResult)
		if !ok {
			return fmt.Sprintf("answered with %T", got)
		}
		return differRecords(got.Records, want.Records)
	case store.ResolvedResult:
		if got, ok := got.(store.ResolvedResult); !ok || !slices.Equal(got.IDs, want.IDs) {
			return fmt.Sprintf("resolved %v, want %v", got, want)
		}
	case store.StoredResult:
		if got, ok := got.(store.StoredResult); !ok || got.Position != want.Position || !slices.Equal(got.Outcomes, want.Outcomes) {
			return fmt.Sprintf("stored %v, want %v", got, want)
		}
	case store.PositionResult:
		if got != store.Result(want) {
			return fmt.Sprintf("position %v, want %v", got, want)
		}
	}
	return ""
}

func differErrors(got store.Result, err, wantErr error) string {
	var want *store.Error
	switch {
	case err == nil:
		return fmt.Sprintf("answered %v, want the error %v", got, wantErr)
	case wantErr == nil:
		return fmt.Sprintf("failed: %v", err)
	case got != nil:
		return fmt.Sprintf("both answered %v and failed: %v", got, err)
	case errors.As(wantErr, &want) && !errors.Is(err, want.Kind):
		return fmt.Sprintf("failed with %v, want the kind %v", err, want.Kind)
	}
	return ""
}

func ids(recs []store.Record) []store.RecordID {
	out := make([]store.RecordID, len(recs))
	for i, r := range recs {
		out[i] = r.ID
	}
	return out
}

func differRecords(got, want []store.Record) string {
	if !slices.Equal(ids(got), ids(want)) {
		return fmt.Sprintf("ids %v, want %v", ids(got), ids(want))
	}
	for i := range got {
		if got[i].Hash != want[i].Hash || !bytes.Equal(got[i].Bytes, want[i].Bytes) {
			return fmt.Sprintf("record #%d is %s %.80q, want %s %.80q", got[i].ID, got[i].Hash, got[i].Bytes, want[i].Hash, want[i].Bytes)
		}
	}
	return ""
}
