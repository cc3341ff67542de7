package scene

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lace-store/lace/pkg/policy"
	"github.com/lace-store/lace/pkg/store/record"
	"github.com/lace-store/lace/pkg/store/record/mark"
)

// draft is a record in the making.
type draft struct {
	at      record.Coordinates
	headers []record.Header
	bytes   int
	seal    string
	isBlob  bool
}

// build makes the record of one line.
func (s *Scene) build(name string, words []string) (record.View, error) {
	d := draft{at: record.Coordinates{
		Group: "team", App: "scene", Name: name, TAI: record.FormatTAI(1_700_000_000+uint64(len(s.records)), 0),
	}}
	for _, word := range words {
		if of, ok := strings.CutPrefix(word, "blob="); ok {
			return s.inside(of)
		}
		if err := s.word(&d, word); err != nil {
			return record.View{}, err
		}
	}
	data := "data of " + name
	if d.bytes > 0 {
		data = strings.Repeat(data+", ", d.bytes/len(data)+1)[:d.bytes]
	}
	blob, err := record.BuildBlob(nil, []byte(data))
	if err != nil || d.isBlob {
		return blob, err
	}
	plex, err := record.BuildPlex(nil, d.at, d.headers, blob)
	if err != nil || d.seal == "" {
		return plex, err
	}
	return seal(plex, d.seal)
}

// inside returns the Blob that a record contains.
func (s *Scene) inside(name string) (record.View, error) {
	outer, known := s.byName[name]
	if !known {
		return record.View{}, fmt.Errorf("no record %s before", name)
	}
	blob, ok := outer.Blob()
	if !ok {
		return record.View{}, fmt.Errorf("record %s contains no Blob", name)
	}
	return blob, nil
}

func (s *Scene) word(d *draft, word string) (err error) {
	if word == "blob" {
		d.isBlob = true
		return nil
	}
	name, value, ok := strings.Cut(word, "=")
	if !ok {
		return fmt.Errorf("%q is not Name=value", word)
	}
	if value, err = s.value(value); err != nil {
		return err
	}
	switch name {
	case "bytes":
		d.bytes, err = strconv.Atoi(value)
	case "seal":
		d.seal = value
	case "Group":
		d.at.Group = value
	case "App":
		d.at.App = value
	case "Name":
		d.at.Name = value
	case "TAI":
		d.at.TAI, err = policy.ResolveParam(value, Now())
	default:
		d.headers = append(d.headers, record.Header{Name: name, Value: value})
	}
	return err
}

// value puts hashes and keys in place of @NAME.
func (s *Scene) value(text string) (string, error) {
	data, name, ok := strings.Cut(text, "@")
	if !ok {
		return text, nil
	}
	if key, ok := strings.CutPrefix(name, "key"); ok {
		signer, err := signer(key)
		if err != nil {
			return "", err
		}
		return data + signer.Key().String(), nil
	}
	if data != "" {
		data += " "
	}
	if name == "absent" {
		v, err := record.BuildBlob(nil, []byte("absent"))
		return data + v.Hash().String(), err
	}
	v, known := s.byName[name]
	if !known {
		return "", fmt.Errorf("no record %s before", name)
	}
	return data + v.Hash().String(), nil
}

// signer makes a key of a number; it keeps no secret.
func signer(number string) (*mark.Signer, error) {
	n, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		return nil, err
	}
	return mark.NewSigner([32]byte{31: byte(n)})
}

func seal(plex record.View, number string) (record.View, error) {
	by, err := signer(number)
	if err != nil {
		return record.View{}, err
	}
	m, err := by.Sign(plex.Hash(), [32]byte{})
	if err != nil {
		return record.View{}, err
	}
	return record.BuildSeal(nil, plex, by.Key(), m)
}
