package scene_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lace-store/lace/examples/scene"
	"github.com/lace-store/lace/pkg/policy"
)

// TestRead: every word of a scene has its effect on what a policy sees.
func TestRead(t *testing.T) {
	s, err := scene.Read(`
		% all words
		policy a.lace b.lace
		param text=x old=tai:-1d key=@key1
		+ plex   Topic=a bytes=5 Group=g App=p Name=n TAI=tai:-2d
		- blob   blob bytes=7
		+ inner  blob=plex
		+ sealed seal=1 Topic=b Ref=some@plex Ref=@absent
		+ other  seal=2`)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a.lace", "b.lace"}; !slices.Equal(s.Policies, want) {
		t.Errorf("policies %q", s.Policies)
	}
	if want := []string{"plex", "inner", "sealed", "other"}; !slices.Equal(s.Kept, want) {
		t.Errorf("kept %q", s.Kept)
	}
	for rule, want := range map[string]string{
		"Field(R,'Topic',_,'a'), Field(R,':Length',_,'5')":                      "plex",
		"Field(R,'Group',_,'g'), Field(R,'App',_,'p'), Field(R,'Name',_,'n')":   "plex",
		"Field(R,'TAI',_,t), Param('old',c), Compare(t,'<',c), Prefix(t,'176')": "plex",
		"Field(R,':Type',_,'B')":                "blob inner",
		"Field(R,':Length',_,'7')":              "blob",
		"ContainsRecord(X,R), Have(X), Have(R)": "inner",
		"Field(R,'By',_,v), Param('key',v)":     "sealed",
		"Field(R,'By',_,v), not Param('key',v)": "other",
		"RecordLink(R,'Ref',_,'some',p), Field(p,'Topic',_,'a'), RecordLink(R,'Ref',_,'',x), not Have(x)": "sealed",
	} {
		p, err := policy.Prepare([]policy.Source{{Name: "p", Text: []byte("SelectStoredRecord(R) :- " + rule + ".")}}, s.Params)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Keeps(p)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: keeps %q, want %s", rule, got, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\n+":             "line 3: a record without a name",
		"a\na":               "line 2: a second record a",
		"a Topic":            `line 1: record a: "Topic" is not Name=value`,
		"a Ref=@b\nb":        "line 1: record a: no record b before",
		"a blob=b":           "no record b before",
		"a blob\nb blob=a":   "contains no Blob",
		"a seal=x":           "record a: ",
		"a seal=0":           "record a: ",
		"a bytes=many":       "record a: ",
		"a TAI=tai:sometime": "record a: ",
		"a Bad_ Name=":       "record a: ",
		"param x":            `line 1: "x" is not NAME=VALUE`,
		"param x=tai:never":  "line 1: ",
	} {
		if _, err := scene.Read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
