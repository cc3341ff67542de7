package syntax

// Module is one parsed policy file.
type Module struct {
	File  string
	Rules []Rule
}

// Rule is a statement: Head :- Body. IsFact is the body `true` (or none).
type Rule struct {
	Head     Call
	Body     []Literal
	IsFact   bool
	Position Position
}

// Literal is one conjunct of a body.
type Literal struct {
	Negated  bool
	Call     Call
	Position Position
}

// Call is a name with arguments. The built-ins have calls as arguments too.
type Call struct {
	Name     string
	Args     []Arg
	Position Position
}

// Arg is an argument: a variable, the anonymous variable, a constant or a call.
type Arg struct {
	Form     ArgForm
	Name     string // of a variable
	Text     string // of a constant
	Call     *Call
	Position Position
}

// ArgForm tells arguments apart.
type ArgForm uint8

// The forms of an argument.
const (
	Anonymous ArgForm = iota
	Variable
	Constant
	Nested
)
