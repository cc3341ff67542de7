// Package profiletest tests what every filesystem-shaped profile must do, through
// package profile alone: admission, recovery, making a root and compaction under
// crashes and failed calls. A profile brings itself as a Subject. It must not
// know any profile.
package profiletest
