// Package mmap maps whole files read-only, and keeps a mapping, and whatever
// the mapping holds, alive exactly as long as somebody can still read it. It
// must not know what the bytes mean, nor why something is held with them.
//
// A Mapping hands out views together with an owner. The memory is unmapped,
// and then the held io.Closer closed, once the holder has called Release and
// no owner is reachable any more. Reachability is decided by the garbage
// collector, so a caller that needs the end of a mapping runs runtime.GC in a
// bounded loop and watches Released.
//
// A file that cannot be read, or that was cut short under its mapping, shows
// as a memory fault at the access. Guard turns such a fault into an error.
//
// Mappings of a tebibyte need a 64-bit address space; 32-bit systems are not
// supported. The code is built for Linux, macOS, FreeBSD and Windows.
package mmap
