package record

import (
	"errors"
	"fmt"
	"io"
)

// FormatError says where bytes stop being a record, and why.
type FormatError struct {
	Offset int64 // in bytes, from the start of the record or of the stream
	Stream bool  // Offset counts from the start of a stream
	Err    error // what is wrong there
}

// Error renders the place and the reason on one line.
func (e *FormatError) Error() string {
	of := "record"
	if e.Stream {
		of = "stream"
	}
	return fmt.Sprintf("%s byte %d: %v", of, e.Offset, e.Err)
}

// Unwrap returns what is wrong.
func (e *FormatError) Unwrap() error { return e.Err }

// errTruncated says that the bytes end where more must follow. It wraps
// io.ErrUnexpectedEOF for whoever reads a stream.
var errTruncated = fmt.Errorf("ends inside a record: %w", io.ErrUnexpectedEOF)

// wrong returns a FormatError at a byte of the record.
func wrong(at int, format string, args ...any) error {
	return &FormatError{Offset: int64(at), Err: fmt.Errorf(format, args...)}
}

// truncated says that more must follow the end of b.
func truncated(b []byte) error { return &FormatError{Offset: int64(len(b)), Err: errTruncated} }

// badLine places an error about the line at b[at].
func badLine(b []byte, at int, err error) error {
	if errors.Is(err, errTruncated) {
		return truncated(b)
	}
	return &FormatError{Offset: int64(at), Err: err}
}

// moved adds to the offset of a FormatError the place of the record that it
// is about.
func moved(err error, by int64, stream bool) error {
	var f *FormatError
	if !errors.As(err, &f) {
		return err
	}
	return &FormatError{Offset: f.Offset + by, Stream: stream, Err: f.Err}
}
