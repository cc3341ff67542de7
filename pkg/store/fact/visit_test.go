package fact

import "testing"

func TestVisitOfABlob(t *testing.T) {
	got, err := Collect([]byte("🖧: B.0000000000000000000000000000000000000000000.H3\nData-Length: 3\n\nabc"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Fact{{Predicate: Field, Name: ":Type", Value: "B"}, {Predicate: Field, Name: ":Length", Value: "3"}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, want %v", got, want)
	}
}
