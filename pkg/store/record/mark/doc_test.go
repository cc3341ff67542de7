package mark

import (
	"os"
	"strings"
	"testing"

	"github.com/lace-store/lace/pkg/store/record"
)

// TestDocumentedSeal reads the example of the format's documentation.
func TestDocumentedSeal(t *testing.T) {
	doc, err := os.ReadFile("../../../../docs/format/records.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "<!-- example seal -->\n```\n")
	text, _, closed := strings.Cut(rest, "\n```\n")
	if !ok || !closed {
		t.Fatal("no example")
	}
	v, err := record.ParseStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifySeal(v); err != nil {
		t.Error(err)
	}
	key, _, _ := v.SealTexts()
	if want := signer(t, [32]byte{31: 1}).Key().String(); string(key) != want {
		t.Errorf("sealed by %s, the secret 1 has %s", key, want)
	}
}
