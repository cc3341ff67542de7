// Package trace runs a process and stops it before every system call on the
// files of one directory, so that a test can count these calls over all
// threads, let one fail, cut one short, leave one out, or kill the process
// there. It works by ptrace, on Linux on amd64, and needs nothing of the
// process. The threads of the process are watched, its children are not. It must not know what the process does.
package trace
