package sweep_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/sweep"
)

// TestFallback: a block that needs too many searches, whose matches over the
// root are too many to keep as well, makes one search and joins what it finds
// by the texts of all slots that both sides share.
func TestFallback(t *testing.T) {
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf("r%d A=%d B=%d", i, i%5, i%3))
	}
	lines = append(lines, "w1 Want=A Value=3", "w2 Want=B Value=1", "w3 Want=B Value=7", "w4 Want=A Value=4 Ref=@w1", "w5 Want=A Value=0 Ref=@w2")
	r := makeRoot(t, lines...)
	const want = `want(n,v) :- Field(S,'Want',_,n), Field(S,'Value',_,v). `
	for name, policy := range map[string]string{
		"join on two texts":    want + `SelectStoredRecord(R) :- want(n,v), Field(R,n,_,v).`,
		"join with an output":  want + `SelectStoredRecord(R) :- want(n,v), Field(R,n,_,v), Field(R,m,_,name), Prefix(m,'Nam'), Compare(name,'>','r15').`,
		"negated on two texts": want + `bad(v) :- want(n,v), not Field(_,n,_,v). SelectStoredRecord(R) :- Field(R,'Value',_,v), bad(v).`,
		"compared with a binding": `want(n,v,w) :- Field(S,'Want',_,n), Field(S,'Value',_,v), Field(S,'Name',_,w).
			SelectStoredRecord(R) :- want(n,v,w), Field(R,n,_,v), Field(R,_,_,b), Compare(b,'<',w), Prefix(b,'r1').`,
		"targets": `w(R) :- Field(R,'Want',_,_). SelectStoredRecord(R) :- w(T), RecordLink(R,_,_,_,T).`,
	} {
		t.Run(name, func(t *testing.T) {
			p := r.prepare(t, policy)
			free, err := sweep.Run(context.Background(), r.store(t), p, sweep.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if n := free.Kept.Count(); n == 0 || n == uint64(len(lines)) {
				t.Errorf("%d kept: the case decides nothing", n)
			}
			for _, block := range []int{2, 3, 1024} {
				l := &logging{Backend: r.store(t)}
				o := sweep.Options{DistinctQueries: 1, BlockBindings: block, MaxRelationRows: 5, WindowRecords: 3, WorkPerRecord: 1 << 30}
				result, err := sweep.Run(context.Background(), l, p, o)
				if err != nil {
					t.Fatal(err)
				}
				got, want := slices.Collect(result.Kept.IDs()), slices.Collect(free.Kept.IDs())
				if !slices.Equal(got, want) {
					t.Errorf("blocks of %d: kept %v, want %v", block, got, want)
				}
				if !slices.ContainsFunc(l.ops, isUnbound) {
					t.Errorf("blocks of %d: no search without a binding\n%s", block, strings.Join(l.searches(), "\n"))
				}
			}
		})
	}
}

// isUnbound reports whether an operation is the search for any owner.
func isUnbound(op store.Op) bool {
	find, ok := op.(store.FindRecords)
	return ok && len(find.Query.Constraints) == 0
}
