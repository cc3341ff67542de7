package cmd

import (
	"context"

	"github.com/lace-store/lace/pkg/store/profile"
)

// indexesBody is what came of comparing the posting lists with a scan.
type indexesBody struct {
	Lists int            `json:"lists"`
	Bad   []badIndexBody `json:"bad"`
}

// badIndexBody is a posting list that is not what a scan finds. A list only
// accelerates: it may be deleted, and is built again when it is needed.
type badIndexBody struct {
	Path    string `json:"path"`
	Problem string `json:"problem"`
	Missing uint64 `json:"missing"`
	Extra   uint64 `json:"extra"`
}

func examineIndexes(ctx context.Context, x profile.Examination) (*indexesBody, error) {
	checked, err := x.CheckIndexes(ctx)
	if err != nil {
		return nil, err
	}
	body := &indexesBody{Lists: checked.Lists, Bad: []badIndexBody{}}
	for _, f := range checked.Findings {
		body.Bad = append(body.Bad, badIndexBody{f.Path, f.Err.Error(), f.Missing, f.Extra})
	}
	return body, nil
}
