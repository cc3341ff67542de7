package sweep_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/lace-store/lace/pkg/policy/program"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/memory"
	"github.com/lace-store/lace/pkg/store/native"
	"github.com/lace-store/lace/pkg/store/vfs/crashfs"
	"github.com/lace-store/lace/pkg/sweep"
	"github.com/lace-store/lace/pkg/sweep/eval"
	"github.com/lace-store/lace/pkg/sweep/sweeptest"
)

// outcome is all that may not depend on the jobs.
type outcome struct {
	result *sweep.Result
	err    error
}

func sweepWith(b store.Backend, modules []*program.Program, o sweep.Options, jobs int) outcome {
	o.Jobs = jobs
	result, err := sweep.RunPrograms(context.Background(), b, modules, o)
	if result != nil {
		result.Report.Options = sweep.Options{}
	}
	return outcome{result, err}
}

// nativeStore is a native root on a model file system.
func nativeStore(t testing.TB, records [][]byte) *native.Store {
	t.Helper()
	s, err := native.Create(context.Background(), filepath.Join("/", "root"), native.Options{FS: crashfs.New(crashfs.Options{ReleaseAtOnce: true}), Capacity: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	admit(t, s, records)
	return s
}

// drawSweep draws modules over a root, and limits that make many windows, many
// parts that find more to share, and some failures.
func drawSweep(t *rapid.T) (*sweeptest.Root, []*program.Program, sweep.Options) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	root := sweeptest.RandomRoot(rng, 20)
	var modules []*program.Program
	for range rapid.IntRange(1, 4).Draw(t, "modules") {
		modules = append(modules, sweeptest.RandomProgram(rng, root, true))
	}
	return root, modules, sweep.Options{
		WindowRecords:   rapid.SampledFrom([]uint64{1, 2, 3, 7, 0}).Draw(t, "window"),
		PageRows:        rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "page"),
		BlockBindings:   rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "block"),
		DistinctQueries: rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "queries"),
		MaxRelationRows: rapid.SampledFrom([]uint64{0, 0, 6}).Draw(t, "rows"),
		WorkPerRecord:   rapid.SampledFrom([]uint64{4000, 4000, 12}).Draw(t, "work"),
	}
}

// TestJobsDoNotMatter: with any number of jobs, over any store, the result,
// its report and the error are the same.
func TestJobsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root, modules, o := drawSweep(rt)
		want := sweepWith(memoryStore(t, root.Records), modules, o, 1)
		// The native store keeps what it learns; the others start anew.
		disk := nativeStore(t, root.Records)
		for jobs := 1; jobs <= 4; jobs++ {
			for name, b := range map[string]store.Backend{"memory": memoryStore(t, root.Records), "native": disk} {
				if got := sweepWith(b, modules, o, jobs); !reflect.DeepEqual(got, want) {
					rt.Fatalf("%s, %d jobs: %v\n%+v\nwant %v\n%+v", name, jobs, got.err, got.result, want.err, want.result)
				}
			}
		}
		if err := disk.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

func memoryStore(t testing.TB, records [][]byte) *memory.Store {
	t.Helper()
	s := memory.New()
	admit(t, s, records)
	return s
}

// TestFirstErrorInOrderWins, whichever comes first in time.
func TestFirstErrorInOrderWins(t *testing.T) {
	r := makeRoot(t, "a N=1", "b N=2", "c N=3", "d N=4", "e N=5", "f N=6", "g N=7", "h N=8")
	const (
		late = `pair(A,B) :- Field(A,'N',_,_), Field(B,'N',_,_). SelectStoredRecord(R) :- Have(R), not pair(R,R).`
		fine = `SelectStoredRecord(R) :- Have(R).`
		soon = `h(A,t) :- Field(A,'N',_,t). SelectStoredRecord(R) :- Have(R), not h(R,'1').`
	)
	modules := []*program.Program{}
	for _, m := range r.prepare(t, fine, late, soon, fine, soon).Modules {
		modules = append(modules, m.Program)
	}
	for jobs := 1; jobs <= 8; jobs++ {
		for range 20 {
			got := sweepWith(r.store(t), modules, sweep.Options{WindowRecords: 1, MaxRelationRows: 7, WorkPerRecord: 100}, jobs)
			var limit *eval.LimitError
			if !errors.As(got.err, &limit) || limit.Module != "p2.lace" || limit.Relation != "pair" || limit.Used != 8 {
				t.Fatalf("%d jobs: %v", jobs, got.err)
			}
		}
	}
}

// TestMatchesAreSharedOnce: windows that need the same matches over the whole
// root read it once for all of them, not once each.
func TestMatchesAreSharedOnce(t *testing.T) {
	r := makeRoot(t, "a Twin=1 Key=2", "b Twin=2 Key=3", "c Twin=3 Key=1", "d Twin=1 Key=9", "e Twin=2 Key=8", "f Twin=3 Key=7")
	p := r.prepare(t, `SelectStoredRecord(R) :- Field(R,'Twin',_,x), Field(S,'Key',_,x).`)
	var reads []uint64
	for _, window := range []uint64{6, 2} {
		for jobs := 1; jobs <= 3; jobs++ {
			o := sweep.Options{WindowRecords: window, Jobs: jobs, DistinctQueries: 1}
			result, err := sweep.Run(context.Background(), r.store(t), p, o)
			if err != nil || result.Kept.Count() != 6 {
				t.Fatalf("%v, %v", result, err)
			}
			sum := uint64(0)
			for _, w := range result.Report.Modules[0].Windows {
				sum += w.RecordsRead
			}
			reads = append(reads, sum)
		}
	}
	for _, n := range reads {
		if n != 12 {
			t.Errorf("records read: %v, want 12: each once by itself and once as a match", reads)
			break
		}
	}
}
