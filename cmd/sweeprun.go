package cmd

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/lace-store/lace/pkg/compact"
	"github.com/lace-store/lace/pkg/mmap"
	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store/kept"
	"github.com/lace-store/lace/pkg/store/profile"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/tally"
)

func (o *sweepCommandOptions) run(ctx context.Context, s *session, root string) (_ document, err error) {
	doc := &sweepDocument{head: newHead("sweep", root), Modules: []moduleBody{}, verbose: s.global.verbose}
	if err := o.validate(); err != nil {
		return doc, err
	}
	keeper, err := o.keep.open(s, root)
	if err != nil {
		return doc, err
	}
	defer func() { err = errors.Join(err, keeper.close()) }()
	at, err := s.locate(root, o.lock)
	if err != nil {
		return doc, err
	}
	if o.saveKept != "" {
		if err := checkKeptPlace(s.fs, at.dir, o.saveKept); err != nil {
			return doc, err
		}
	}
	open := o.lock.openOptions(s)
	open.ReadOnly = true
	b, err := at.profile.Open(ctx, at.dir, open)
	if err != nil {
		return doc, err
	}
	doc.Profile = at.word()
	p := &preview{s: s, o: o, b: b, prepared: keeper.prepared, doc: doc}
	if err = errors.Join(mmap.Guard(func() error { return p.run(ctx, keeper) }), b.Close()); err != nil {
		return doc, err
	}
	return doc, o.judge(doc)
}

// preview is one run of sweep over an open root. Its steps fill the document.
type preview struct {
	s        *session
	o        *sweepCommandOptions
	b        profile.Store
	prepared *policy.Prepared // nil with --kept
	result   *sweep.Result    // nil with --kept
	set      *kept.Set
	doc      *sweepDocument
}

// run decides and goes through the steps; each needs the root open. The kept
// set is saved last, so that a run that fails leaves none.
func (p *preview) run(ctx context.Context, k *keeper) error {
	err := p.o.explain.find(p.b.Table())
	if err != nil {
		return err
	}
	if p.set, p.result, err = k.decide(ctx, p.b); err != nil {
		return err
	}
	steps := []func(context.Context) error{p.count}
	if p.result != nil {
		steps = append(steps, p.cost, p.explain, p.save)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if p.o.list != "" {
		p.doc.list = &recordList{retained: p.o.list == listRetained, set: p.set, table: p.b.Table()}
	}
	return nil
}

// count adds up what stays and what goes: in all, by policy and by group.
func (p *preview) count(ctx context.Context) error {
	options := tally.Options{Fields: p.o.fields()}
	if p.result != nil {
		for _, m := range p.result.Report.Modules {
			options.Modules = append(options.Modules, m.Kept)
		}
	}
	report, err := p.s.tally(ctx, p.b, p.set, options)
	if err != nil {
		return err
	}
	rows, err := p.b.Rows(p.set.Boundary())
	if err != nil {
		return err
	}
	plan, err := compact.NewPlan(rows, p.set, compact.DefaultJournalSize)
	if err != nil {
		return err
	}
	p.doc.Boundary = uint64(p.set.Boundary())
	p.doc.Retained, p.doc.Removed = totalBody(report.All.Retained), totalBody(report.All.Removed)
	p.doc.KeptDigest = hex.EncodeToString(plan.Digest[:])
	p.doc.Groups = groupBodies(report.Groups)
	for i, m := range report.Modules {
		of := p.result.Report.Modules[i]
		p.doc.Modules = append(p.doc.Modules, moduleBody{
			File: of.File, Digest: hex.EncodeToString(p.prepared.Modules[i].Digest[:]),
			Retained: totalBody(m.Retained), Only: totalBody(m.Only), costBody: newCostBody(of),
		})
	}
	return nil
}

// cost says what the sweep built.
func (p *preview) cost(context.Context) error {
	p.doc.Postings = newPostingsBody(p.b.ListStats())
	return nil
}

// save writes the kept file.
func (p *preview) save(context.Context) error {
	if p.o.saveKept == "" {
		return nil
	}
	if err := saveKept(p.s.fs, p.o.saveKept, p.set, p.b.Table(), p.prepared.Digest); err != nil {
		return err
	}
	p.doc.SavedKept = p.o.saveKept
	return nil
}
