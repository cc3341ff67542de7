// Package syntax reads and prints the text of a policy module: positions,
// diagnostics, lexer, parser, tree and canonical printer. It does not know
// what any predicate means.
package syntax
