package syntax

// Module is one parsed policy file.
type Module struct {
	File  string
	Rules []Rule
	// Broken has the head names of the statements that could not be read: the
	// names are defined, though nothing else is known about them.
	Broken []string
	// Comments are all comments, in the order of the text.
	Comments []Comment
}

// Comment is the text of a comment from its % to the last visible character of
// the line.
type Comment struct {
	Text     string
	Position Position
	start    int // offset in the source
}

// Rule is a statement: Head :- Body. IsFact is the body `true` (or none).
type Rule struct {
	Head     Call
	Body     []Literal
	IsFact   bool
	Position Position
	// head spans the head and its ":-"; all of the statement when it is a fact.
	head span
}

// Literal is one conjunct of a body.
type Literal struct {
	Negated  bool
	Call     Call
	Position Position
	span     span // with the comma or full stop behind it
}

// span is [start, end) of the source, and the line of its last token.
type span struct{ start, end, endLine int }

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
