// Package syntax reads and prints the text of a policy module: positions,
// diagnostics, lexer, parser, tree, canonical printer and formatter. It does
// not know what any predicate means.
//
// There are two printed forms. Print gives the canonical text, one statement a
// line and no comments: digests are over it, so that neither layout nor
// comments change what a policy is. Format gives the text for people, with
// every comment in its place.
package syntax
