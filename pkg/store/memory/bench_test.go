package memory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store"
	"github.com/lace-store/lace/pkg/store/index"
	"github.com/lace-store/lace/pkg/store/storetest"
)

// benchRecords is the size of the root of the benchmarks.
const benchRecords = 1 << 17

// benchStore holds records of about 600 bytes: 1,024 topics, a kind that one
// in ten has, and a link to the record of half the number.
func benchStore(b *testing.B) (*Store, []storetest.Record) {
	b.Helper()
	s := New()
	pad := strings.Repeat("p", 300)
	recs := make([]storetest.Record, 0, benchRecords)
	for i := range benchRecords {
		headers := []storetest.Header{{Name: "Topic", Value: fmt.Sprintf("topic-%d", i%1024)}, {Name: "Pad", Value: pad}}
		if i%10 == 0 {
			headers = append(headers, storetest.Header{Name: "Kind", Value: "pin"})
		}
		if i > 0 {
			headers = append(headers, storetest.Header{Name: "Ref", Value: "parent " + recs[i/2].Hash.String()})
		}
		r := storetest.Plex(fmt.Sprint(i), headers...)
		recs = append(recs, r)
		if _, err := s.Execute(store.StoreRecords{Records: []store.NewRecord{r.New()}}); err != nil {
			b.Fatal(err)
		}
	}
	return s, recs
}

// everything pages through all answers of a query as a sweep does.
func everything(b *testing.B, s *Store, q store.Query) (found int) {
	op := store.FindRecords{Query: q, UpperInclusive: store.Latest, MaxRows: 256}
	for {
		res, err := s.reader.Find(op)
		if err != nil {
			b.Fatal(err)
		}
		found += len(res.Records)
		if res.Complete {
			return found
		}
		op.ResumeAfter = res.ResumeAfter
	}
}

func exact(name, value string) store.Query {
	return store.Query{Constraints: []store.Constraint{{Shape: store.FieldExact, Name: name, Value: value}}}
}

func perRecord(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
}

func BenchmarkFind(b *testing.B) {
	s, recs := benchStore(b)
	none := store.Query{Constraints: []store.Constraint{{Shape: store.LinkName, Name: "Nothing"}}}
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			everything(b, over(s.rows, index.Options{}), none)
		}
		perRecord(b, benchRecords)
	})
	b.Run("build one list", func(b *testing.B) {
		for b.Loop() {
			fresh := over(s.rows, index.Options{})
			fresh.Expect(exact("Kind", "pin"))
			everything(b, fresh, exact("Kind", "pin"))
		}
		perRecord(b, benchRecords)
	})
	b.Run("page through a list", func(b *testing.B) {
		found := 0
		for b.Loop() {
			found = everything(b, s, exact("Kind", "pin"))
		}
		perRecord(b, found)
	})
	b.Run("join over all link targets", func(b *testing.B) {
		for b.Loop() {
			fresh := over(s.rows, index.Options{})
			for _, r := range recs {
				everything(b, fresh, store.Query{Constraints: []store.Constraint{{Shape: store.LinkTarget, Value: r.Hash.String()}}})
			}
		}
		perRecord(b, benchRecords)
	})
}
