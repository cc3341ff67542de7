// Package fusefs mounts a vfs.FS, so that a program which knows only the
// kernel's files runs on a model. It must not know what the model promises:
// every call is passed on at once, and what is durable is the model's affair.
//
// The kernel keeps no names and no attributes, and forgets a file's pages when
// it is opened; nothing is written back later. Advisory locks are the
// kernel's own, so they end with the process that holds them. Closing a file
// passes nothing on, which a model may take at its word.
package fusefs
