package sweep_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/memory"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/sweep"
)

var (
	bigRecords = flag.Int("sweep.big", 0, "records of the root that the big sweeps run over; 0 skips them")
	bigWindow  = flag.Uint64("sweep.bigwindow", 0, "ids of one window of the big sweeps; 0 is the standard")
)

// bigPolicies are the shapes of seed 000's big test and of the performance
// page.
var bigPolicies = []struct{ name, text string }{
	{"inline exact field", `SelectStoredRecord(R) :- Field(R,'Half',_,'a').`},
	{"one-hop link join", `SelectStoredRecord(R) :- RecordLink(R,'Ref',_,_,T), Field(T,'Half',_,'a').`},
	{"negation", `replied(T) :- RecordLink(_,'Ref',_,_,T). SelectStoredRecord(R) :- Have(R), not replied(R).`},
	{"newest three per topic", `topic(R,t) :- Field(R,'Topic',_,t).
		SelectStoredRecord(R) :- TopK(topic(R,t), PartitionBy(t), AdmitOrder(R), 'desc', '3').`},
	{"reachability", `reach(R) :- Field(R,'Pin',_,_). reach(T) :- reach(R), RecordLink(R,_,_,_,T), Have(T).
		SelectStoredRecord(R) :- reach(R).`},
	{"cloned helper", `message(R,t) :- Field(R,'Topic',_,t). SelectStoredRecord(R) :- message(R,'17').`},
	{"whole-root helper", `busy(t) :- Field(R,'Topic',_,t), Field(R,'Pin',_,_).
		SelectStoredRecord(R) :- Field(R,'Topic',_,t), busy(t).`},
	{"whole-root value join", `SelectStoredRecord(R) :- Field(R,'Twin',_,x), Field(S,'Key',_,x), Field(S,'Half',_,'b').`},
	{"negation by search", `SelectStoredRecord(R) :- Have(R), not RecordLink(_,'Ref',_,_,R).`},
}

// bigRoot fills a store with records of about 500 bytes.
func bigRoot(t testing.TB, n int) *memory.Store {
	s := memory.New()
	rng := rand.New(rand.NewPCG(1, 1))
	hashes := make([]record.Hash, 0, n)
	data := make([]byte, 300)
	for len(hashes) < n {
		var op store.StoreRecords
		for len(op.Records) < 4096 && len(hashes) < n {
			i := len(hashes)
			headers := []record.Header{
				{Name: "Half", Value: string("ab"[rng.IntN(2)])},
				{Name: "Key", Value: fmt.Sprint("k", i)},
				{Name: "Topic", Value: fmt.Sprint(rng.IntN(300))},
				{Name: "Twin", Value: fmt.Sprint("k", rng.IntN(n))},
			}
			if rng.IntN(100) == 0 {
				headers = append(headers, record.Header{Name: "Pin", Value: "1"})
			}
			if i > 0 && rng.IntN(2) == 0 {
				headers = append(headers, record.Header{Name: "Ref", Value: "reply " + hashes[rng.IntN(i)].String()})
			}
			blob, err := record.BuildBlob(nil, data)
			if err != nil {
				t.Fatal(err)
			}
			at := record.Coordinates{Group: "g", App: "big", Name: fmt.Sprint("r", i), TAI: record.FormatTAI(1_700_000_000+uint64(i), 0)}
			plex, err := record.BuildPlex(nil, at, headers, blob)
			if err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, plex.Hash())
			op.Records = append(op.Records, store.NewRecord{Hash: plex.Hash(), Len: uint64(len(plex.Bytes())), Body: bytes.NewReader(plex.Bytes())})
		}
		if _, err := s.Execute(op); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func prepared(t testing.TB, text string) *policy.Prepared {
	t.Helper()
	p, err := policy.Prepare([]policy.Source{{Name: "test.lace", Text: []byte(text)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBigSweeps reports wall time and work of sweeps over a large root.
func TestBigSweeps(t *testing.T) {
	if *bigRecords == 0 {
		t.Skip("slow: run with -sweep.big 1048576")
	}
	s := bigRoot(t, *bigRecords)
	runtime.GC()
	t.Logf("root of %d records, %s resident", *bigRecords, residentAnonymous())
	for _, p := range bigPolicies {
		start := time.Now()
		result, err := sweep.Run(context.Background(), s, prepared(t, p.text), sweep.Options{WindowRecords: *bigWindow})
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		m := result.Report.Modules[0]
		t.Logf("%-24s %6.2fs  retained %8d  operations %8d  %s", p.name, time.Since(start).Seconds(), m.Retained, result.Report.Operations, residentAnonymous())
		for _, w := range m.Windows {
			t.Logf("    window (%d, %d] work %d of %d, %d records read, rows %v", w.Lower, w.Upper, w.Work, m.WorkAllowed, w.RecordsRead, w.Rows)
		}
	}
}

// residentAnonymous returns what the system says, where it does.
func residentAnonymous() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "unknown"
}
