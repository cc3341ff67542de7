package fact

import "strconv"

// Predicate names one of the base record predicates other than Have.
type Predicate uint8

// The predicates of a Fact.
const (
	Field          Predicate = iota + 1 // Field(R, Name, Index, Value)
	RecordLink                          // RecordLink(R, Name, Index, Data, Target)
	ContainsRecord                      // ContainsRecord(R, Target)
)

// Fact is one owned fact about a record. Fields that its predicate lacks are
// zero. It is comparable.
type Fact struct {
	Predicate Predicate
	Name      string
	Index     int
	Value     string
	Data      string
	Target    string
}

// String renders the fact as an atom about R.
func (f Fact) String() string {
	index := strconv.Itoa(f.Index)
	switch f.Predicate {
	case Field:
		return "Field(R, " + strconv.Quote(f.Name) + ", " + index + ", " + strconv.Quote(f.Value) + ")"
	case RecordLink:
		return "RecordLink(R, " + strconv.Quote(f.Name) + ", " + index + ", " + strconv.Quote(f.Data) + ", " + f.Target + ")"
	default:
		return "ContainsRecord(R, " + f.Target + ")"
	}
}

// Collect returns the facts of complete record bytes in visiting order. It is
// for tests and for showing one record; evaluation uses Visit.
func Collect(rec []byte) ([]Fact, error) {
	var c collector
	if err := Visit(rec, &c); err != nil {
		return nil, err
	}
	return c, nil
}

type collector []Fact

func (c *collector) Field(name []byte, index int, value []byte) bool {
	*c = append(*c, Fact{Predicate: Field, Name: string(name), Index: index, Value: string(value)})
	return true
}

func (c *collector) Link(name []byte, index int, data, target []byte) bool {
	*c = append(*c, Fact{Predicate: RecordLink, Name: string(name), Index: index, Data: string(data), Target: string(target)})
	return true
}

func (c *collector) Contains(contained []byte) bool {
	*c = append(*c, Fact{Predicate: ContainsRecord, Target: string(contained)})
	return true
}
