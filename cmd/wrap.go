package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lace-store/lace/cmd/internal/ui"
	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store/record"
)

// wrapAll makes a Plex record of each file and admits it. The TAI of a record
// is the modification time of its file.
func (a *admission) wrapAll(files []string, group, app string) error {
	for _, name := range files {
		if err := a.ctx.Err(); err != nil {
			return a.stopped(err)
		}
		rec, err := wrapFile(name, group, app)
		if err != nil {
			return &usageError{fmt.Errorf("wrap %s: %w", ui.Quote(name), err)}
		}
		staged, err := a.store.Stage(rec.Hash(), uint64(len(rec.Bytes())), bytes.NewReader(rec.Bytes()))
		if err != nil {
			return err
		}
		if err := a.add(staged); err != nil {
			return err
		}
	}
	return a.flush()
}

func wrapFile(name, group, app string) (record.View, error) {
	f, err := os.Open(name)
	if err != nil {
		return record.View{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return record.View{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, record.MaxDataLen+1))
	if err != nil {
		return record.View{}, err
	}
	tai, err := policy.ResolveParam("tai:"+info.ModTime().UTC().Format(time.RFC3339Nano), info.ModTime())
	if err != nil {
		return record.View{}, err
	}
	blob, err := record.BuildBlob(nil, data)
	if err != nil {
		return record.View{}, err
	}
	return record.BuildPlex(nil, record.Coordinates{Group: group, App: app, Name: filepath.ToSlash(name), TAI: tai}, nil, blob)
}
