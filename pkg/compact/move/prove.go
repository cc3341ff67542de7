package move

import (
	"context"
	"errors"

	"github.com/lace-store/lace/pkg/compact/format"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/root"
)

// Proof says which plan rows an interrupted compaction still holds.
type Proof struct {
	Rows  uint64
	Bytes uint64
	Lost  []LostRow
}

// LostRow is a plan row that no place holds.
type LostRow struct {
	Row format.RowIndex
	format.PlanRow
}

// Prove hashes every plan row at the places where a resume would look for it:
// before the cursor its new place, from the cursor on the live journal, its
// old and its new place. It writes nothing.
func (m *Mover) Prove(ctx context.Context, cursor format.RowIndex) (Proof, error) {
	c, err := m.cfg.Plan.EffectiveCursor(cursor)
	if err != nil {
		return Proof{}, m.wrap(root.Plan, err)
	}
	j, err := m.openJournal(c)
	if err != nil {
		return Proof{}, err
	}
	var proof Proof
	err = m.report(0)
	for i := format.RowIndex(0); i < m.cfg.Plan.Rows() && err == nil; i++ {
		if err = ctx.Err(); err != nil {
			err = &store.Error{Kind: store.Interrupted, Doing: "verify", Root: m.cfg.Dir, Found: "stopped before every row was proved", Err: err}
			break
		}
		if err = m.proveRow(i, c, j, &proof); err == nil {
			err = m.report(i + 1)
		}
	}
	if j != nil {
		err = errors.Join(err, j.file.Close())
	}
	return proof, err
}

func (m *Mover) proveRow(i, cursor format.RowIndex, j *liveJournal, proof *Proof) error {
	r, err := m.cfg.Plan.Row(i)
	if err != nil {
		return m.wrap(root.Plan, err)
	}
	tries := []rowSource{atDestination}
	if i >= cursor {
		tries = []rowSource{atOldPlace, atDestination}
		if j != nil && i < j.end {
			tries = []rowSource{inJournal, atOldPlace, atDestination}
		}
	}
	proof.Rows++
	proof.Bytes += r.Len
	for _, source := range tries {
		in, at := m.source(source, i, r, j)
		err := m.verify(in, at, r)
		if err == nil {
			return nil
		}
		if !errors.Is(err, record.ErrHashMismatch) {
			return m.wrap(root.Records, err)
		}
	}
	proof.Lost = append(proof.Lost, LostRow{i, r})
	return nil
}
