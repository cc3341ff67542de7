package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/eval"
)

const linkPolicy = `SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), Field(T,'Topic',_,'x'), Compare(R,'!=','zzz'), Compare(R,'<','zzz').`

func linkRoot(t *testing.T) *root {
	return makeRoot(t, "a Topic=x", "b Ref=@a", "c Ref=@b", "d Ref=@a", "e Topic=x Ref=@c")
}

// TestRunStopsBeforeTheNextOperation, whatever operation that is.
func TestRunStopsBeforeTheNextOperation(t *testing.T) {
	r := linkRoot(t)
	all := &logging{Backend: r.store(t)}
	o := sweep.Options{WindowRecords: 2, PageRows: 1}
	if _, err := sweep.Run(context.Background(), all, r.prepare(t, linkPolicy), o); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for n := range 3 * len(all.ops) {
		n, jobs := n/3, 1+n%3
		ctx, cancel := context.WithCancel(context.Background())
		l := &cancelling{logging{Backend: r.store(t)}, n, cancel}
		if n == 0 {
			cancel()
		}
		o.Jobs = jobs
		_, err := sweep.Run(ctx, l, r.prepare(t, linkPolicy), o)
		if !errors.Is(err, store.Interrupted) || !errors.Is(err, context.Canceled) || len(l.ops) != n {
			t.Errorf("%d jobs, cancelled after %d operations: %v after %d", jobs, n, err, len(l.ops))
		}
	}
	noGoroutineSince(t, before)
}

// noGoroutineSince checks that there are no more goroutines than before. One
// that has done all it does may need a moment to be gone.
func noGoroutineSince(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}

// cancelling cancels a context with its n-th operation.
type cancelling struct {
	logging
	n      int
	cancel func()
}

func (c *cancelling) Execute(op store.Op) (store.Result, error) {
	if len(c.ops)+1 == c.n {
		c.cancel()
	}
	return c.logging.Execute(op)
}

// failing fails its n-th operation, or answers it with something else.
type failing struct {
	store.Backend
	n      int
	answer func(op store.Op, res store.Result) (store.Result, error)
}

func (f *failing) Execute(op store.Op) (store.Result, error) {
	res, err := f.Backend.Execute(op)
	if f.n--; f.n == 0 {
		return f.answer(op, res)
	}
	return res, err
}

// TestStoreErrorsPass: an error of the store is the outcome, as it came.
func TestStoreErrorsPass(t *testing.T) {
	r := linkRoot(t)
	broken := &store.Error{Kind: store.CorruptStore, Doing: "load", ID: 3}
	before := runtime.NumGoroutine()
	for jobs := 1; jobs <= 3; jobs++ {
		for n := 1; ; n++ {
			f := &failing{r.store(t), n, func(store.Op, store.Result) (store.Result, error) { return nil, broken }}
			result, err := sweep.Run(context.Background(), f, r.prepare(t, linkPolicy, linkPolicy), sweep.Options{WindowRecords: 2, Jobs: jobs})
			if f.n > 0 {
				if err != nil || n < 16 {
					t.Errorf("%d jobs, ended after %d operations: %v", jobs, n-1, err)
				}
				break
			}
			// No operation follows the one that failed.
			if err != error(broken) || result != nil || f.n < 0 {
				t.Fatalf("%d jobs, operation %d: %v, and %d more", jobs, n, err, -f.n)
			}
		}
	}
	noGoroutineSince(t, before)
}

// TestMalformedAnswers: an answer that breaks the contract ends the sweep as
// an Integration error and is never taken for fewer facts.
func TestMalformedAnswers(t *testing.T) {
	r := linkRoot(t)
	absent := record.Hash([]byte(r.hashes["absent"]))
	garbage := func(rec store.Record) store.Record { rec.Bytes = rec.Bytes[:40]; return rec }
	tampers := map[string]func(op store.Op, res store.Result) store.Result{
		"another result": func(op store.Op, res store.Result) store.Result {
			if _, ok := op.(store.CurrentStorePosition); ok {
				return store.ResolvedResult{}
			}
			return store.PositionResult{Position: 5}
		},
		"no result": func(store.Op, store.Result) store.Result { return nil },
		"empty": func(_ store.Op, res store.Result) store.Result {
			switch res.(type) {
			case store.FoundResult:
				return store.FoundResult{}
			case store.LoadedResult:
				return store.LoadedResult{}
			case store.ResolvedResult:
				return store.ResolvedResult{}
			}
			return store.LoadedResult{}
		},
		"wrong records": func(_ store.Op, res store.Result) store.Result {
			switch res := res.(type) {
			case store.FoundResult:
				res.Records = append([]store.Record{{ID: 99}}, res.Records...)
				return res
			case store.LoadedResult:
				res.Records[0].ID++
				return res
			case store.ResolvedResult:
				res.IDs[0] = 99
				return res
			}
			return nil
		},
		"glyphs of others": func(_ store.Op, res store.Result) store.Result {
			switch res := res.(type) {
			case store.FoundResult:
				if len(res.Records) > 0 {
					res.Records[0].Hash = absent
				}
				return res
			case store.LoadedResult:
				res.Records[0] = garbage(res.Records[0])
				return res
			case store.ResolvedResult:
				// Another record's id: the hash that is learnt for it differs
				// from the one it is found under.
				res.IDs[0] = res.IDs[0]%2 + 1
				return res
			}
			return nil
		},
	}
	for name, tamper := range tampers {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				f := &failing{r.store(t), n, nil}
				var kind string
				f.answer = func(op store.Op, res store.Result) (store.Result, error) {
					kind = fmt.Sprintf("%T", op)
					if found, ok := res.(store.FoundResult); ok && len(found.Records) == 0 && name == "glyphs of others" {
						kind = ""
					}
					return tamper(op, res), nil
				}
				_, err := sweep.Run(context.Background(), f, r.prepare(t, linkPolicy), sweep.Options{WindowRecords: 2})
				if f.n > 0 {
					return
				}
				if kind != "" && !errors.Is(err, store.Integration) {
					t.Errorf("operation %d, %s: %v", n, kind, err)
				}
			}
		})
	}
}

// TestMachine drives by hand.
func TestMachine(t *testing.T) {
	r := linkRoot(t)
	modules := []*program.Program{r.prepare(t, linkPolicy).Modules[0].Program}
	s, err := sweep.New(modules, sweep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	backend := r.store(t)
	for n := 0; ; n++ {
		p := s.Part()
		if p == nil {
			break
		}
		if s.Part() != nil {
			t.Error("a part beside the only one that is possible")
		}
		panics(t, "Resume first", func() { p.Resume(nil) })
		for {
			op, ok := p.Next()
			if !ok {
				break
			}
			if n == 0 {
				panics(t, "Next twice", func() { p.Next() })
				if _, err := s.Result(); !errors.Is(err, store.Interrupted) {
					t.Errorf("a result before the end: %v", err)
				}
			}
			res, err := backend.Execute(op)
			if err != nil {
				t.Fatal(err)
			}
			p.Resume(res)
		}
		s.End(p)
	}
	result, err := s.Result()
	if err != nil || result.Kept.Count() != 2 {
		t.Errorf("%v, %v", result, err)
	}
	s.Stop()
	if again, err := s.Result(); again != result || err != nil {
		t.Errorf("stopping after the end changed the outcome: %v", err)
	}
}

// TestMachineStopped: there is nothing to do after Stop, and no outcome.
func TestMachineStopped(t *testing.T) {
	r := linkRoot(t)
	modules := []*program.Program{r.prepare(t, linkPolicy).Modules[0].Program}
	for name, stop := range map[string]func(s *sweep.RetentionSweep, p *sweep.Part){
		"by Stop":      func(s *sweep.RetentionSweep, _ *sweep.Part) { s.Stop() },
		"by the part":  func(_ *sweep.RetentionSweep, p *sweep.Part) { p.Stop() },
		"by End alone": func(*sweep.RetentionSweep, *sweep.Part) {},
	} {
		s, err := sweep.New(modules, sweep.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := s.Part()
		p.Next()
		stop(s, p)
		if name == "by Stop" {
			p.Resume(store.PositionResult{Position: 5})
		}
		if name != "by End alone" {
			if op, ok := p.Next(); ok {
				t.Errorf("stopped %s: operation %T", name, op)
			}
		}
		s.End(p)
		if s.Part() != nil {
			t.Errorf("stopped %s: another part", name)
		}
		if _, err := s.Result(); !errors.Is(err, store.Interrupted) {
			t.Errorf("stopped %s: %v", name, err)
		}
	}
}

func panics(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s does not panic", what)
		}
	}()
	f()
}

// TestProgress: the callback sums the windows of all modules.
func TestProgress(t *testing.T) {
	r := linkRoot(t)
	var got [][2]uint64
	o := sweep.Options{WindowRecords: 2, Progress: func(decided, total uint64) { got = append(got, [2]uint64{decided, total}) }}
	p := r.prepare(t, linkPolicy, `h(R) :- Have(R).`, linkPolicy)
	for o.Jobs = 8; o.Jobs > 0; o.Jobs-- {
		got = nil
		if _, err := sweep.Run(context.Background(), r.store(t), p, o); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if i > 0 && got[i][0] <= got[i-1][0] || i == len(got)-1 && got[i] != [2]uint64{15, 15} {
				t.Errorf("%d jobs: %v", o.Jobs, got)
			}
		}
	}
	want := [][2]uint64{{0, 15}, {2, 15}, {4, 15}, {5, 15}, {10, 15}, {12, 15}, {14, 15}, {15, 15}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestQueries: what a store is told to prepare for is what is searched.
func TestQueries(t *testing.T) {
	r := linkRoot(t)
	p := r.prepare(t, `pinned(R) :- Field(R,'Pin',_,'1'). SelectStoredRecord(R) :- pinned(R), Field(R,'Topic',_,_).
		SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), Field(T,'Topic',_,_).
		SelectStoredRecord(R) :- TopK(Field(R,'N',_,n),PartitionBy(),Number(n),'asc','1').`)
	var got []store.Constraint
	for _, q := range eval.Queries(p.Modules[0].Program) {
		got = append(got, q.Constraints...)
	}
	want := []store.Constraint{
		{Shape: store.FieldExact, Name: "Pin", Value: "1"},
		{Shape: store.LinkName, Name: "Ref"},
		{Shape: store.FieldPresence, Name: "N"},
	}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
