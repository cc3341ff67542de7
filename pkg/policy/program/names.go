package program

// SelectFacet is the predicate whose records a module retains.
const SelectFacet = "SelectStoredRecord"

// nameClass says what a predicate name stands for.
type nameClass uint8

const (
	helperName nameClass = iota
	selectName
	exchangeName  // a facet that only exchange evaluates
	authorityName // a predicate about who asks; a retention run has nobody
	baseName
	builtinName // a literal or operand form that looks like a predicate
)

func classify(name string) nameClass {
	switch name {
	case SelectFacet:
		return selectName
	case "ExposeRecord", "SelectAdvertisedCandidate", "TxDisabled", "RxDisabled":
		return exchangeName
	case "Here", "PeerConfidential":
		return authorityName
	case "Have", "Field", "RecordLink", "ContainsRecord", "Param":
		return baseName
	case "Compare", "Prefix", "Cardinality", "TopK", "AdmitOrder", "Number", "PartitionBy":
		return builtinName
	}
	return helperName
}

// reservedPredicates are known without a rule: those projected from records,
// Param, and those about who asks, which no rule can make.
func reservedPredicates() []Predicate {
	return []Predicate{
		{Name: "Have", Arity: 1, Base: Have, ClonedFrom: NoPredicate},
		{Name: "Field", Arity: 4, Base: Field, ClonedFrom: NoPredicate},
		{Name: "RecordLink", Arity: 5, Base: RecordLink, ClonedFrom: NoPredicate},
		{Name: "ContainsRecord", Arity: 2, Base: ContainsRecord, ClonedFrom: NoPredicate},
		{Name: "Param", Arity: 2, Base: ParamBase, ClonedFrom: NoPredicate},
		{Name: "Here", Arity: 1, ClonedFrom: NoPredicate},
		{Name: "PeerConfidential", Arity: 1, ClonedFrom: NoPredicate},
	}
}

// suggestible are the names of the language that somebody may misspell in a
// body.
func suggestible() []string {
	return []string{"Have", "Field", "RecordLink", "ContainsRecord", "Param", "Compare", "Prefix", "Cardinality", "TopK"}
}

// baseForm shows how a predicate without rules is written; it is empty for
// every other name.
func baseForm(name string) string {
	switch name {
	case "Have":
		return "Have(record)"
	case "Field":
		return "Field(record,name,index,value)"
	case "RecordLink":
		return "RecordLink(record,name,index,data,target)"
	case "ContainsRecord":
		return "ContainsRecord(outer,contained)"
	case "Param":
		return "Param('name',value)"
	}
	return ""
}
