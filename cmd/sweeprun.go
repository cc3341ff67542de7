package cmd

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/mmap"
	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/sweep"
)

func (o *sweepCommandOptions) run(ctx context.Context, s *session, root string) (document, error) {
	doc := &sweepDocument{head: newHead("sweep", root), Modules: []moduleBody{}, list: o.list}
	if err := o.validate(); err != nil {
		return doc, err
	}
	prepared, err := o.policies.prepare(s)
	if err != nil {
		return doc, err
	}
	dir, err := s.resolveRoot(root, o.lock)
	if err != nil {
		return doc, err
	}
	open := o.lock.openOptions(s)
	open.ReadOnly = true
	b, err := native.Open(ctx, dir, open)
	if err != nil {
		return doc, err
	}
	doc.Profile = "native"
	p := &preview{s: s, o: o, b: b, prepared: prepared, doc: doc}
	if err = errors.Join(mmap.Guard(func() error { return p.run(ctx) }), b.Close()); err != nil {
		return doc, err
	}
	return doc, o.judge(doc)
}

// preview is one run of sweep over an open root. Its steps fill the document.
type preview struct {
	s        *session
	o        *sweepCommandOptions
	b        *native.Store
	prepared *policy.Prepared
	result   *sweep.Result
	doc      *sweepDocument
}

// run decides and goes through the steps; each needs the root open.
func (p *preview) run(ctx context.Context) error {
	err := p.o.explain.find(p.b.Table())
	if err != nil {
		return err
	}
	if p.result, err = sweep.Run(ctx, p.b, p.prepared, p.o.policies.sweepOptions(p.s)); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{p.totals, p.modules, p.records, p.explain} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// totals counts what stays and what goes.
func (p *preview) totals(ctx context.Context) error {
	totals, err := p.s.tally(ctx, p.b, p.result.Kept)
	if err != nil {
		return err
	}
	plan, err := compact.NewPlan(p.b.Table(), p.result.Kept, compact.DefaultJournalSize)
	if err != nil {
		return err
	}
	p.doc.Boundary = uint64(p.result.Report.Boundary)
	p.doc.Retained, p.doc.Removed = totalBody(totals.retained), totalBody(totals.removed)
	p.doc.KeptDigest = hex.EncodeToString(plan.Digest[:])
	return nil
}

// modules counts what each policy retains, and what that took.
func (p *preview) modules(ctx context.Context) error {
	for i, m := range p.result.Report.Modules {
		of, err := p.s.tally(ctx, p.b, m.Kept)
		if err != nil {
			return err
		}
		p.doc.Modules = append(p.doc.Modules, moduleBody{
			File: m.File, Digest: hex.EncodeToString(p.prepared.Modules[i].Digest[:]),
			Retained: totalBody(of.retained), Work: newWorkBody(m),
		})
	}
	return nil
}

// records lists what stays or what goes.
func (p *preview) records(context.Context) error {
	if p.o.list == "" {
		return nil
	}
	for i := range p.doc.Boundary {
		if id := idOf(i); p.result.Kept.Has(id) == (p.o.list == "retained") {
			p.doc.Records = append(p.doc.Records, recordBody{uint64(id), p.b.Table().Hash(id).String()})
		}
	}
	return nil
}
