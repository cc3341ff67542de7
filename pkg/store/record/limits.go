package record

// The published limits and fixed names. Those of ours are in ours.go.
const (
	// MaxDataLen is the greatest length of a Blob's data in bytes: 32 MiB.
	MaxDataLen = 33_554_432
	// MaxLineLen bounds a header line, in bytes without its LF.
	MaxLineLen = 1024
	// TAILen is the length of a TAI coordinate in bytes.
	TAILen = 20

	dataLengthName = "Data-Length"
)

// maxHeadLen bounds everything in front of a record's data, in bytes: three
// glyph lines, the longest pair of Seal lines, the Plex headers, the
// Data-Length line and the empty line.
const maxHeadLen = 3*GlyphLen +
	len("Signed-By: ") + HashLen + 1 +
	len("Signature: ") + MarkTextLen + 1 +
	MaxCoordinatesLen + MaxExtraLen +
	len(dataLengthName) + len(": 33554432\n") + 1

// CoordinateCount is the number of coordinate lines that a Plex begins with.
const CoordinateCount = 4

// coordinateNames are the names of a Plex's first four lines, in order.
var coordinateNames = [CoordinateCount]string{"Group", "App", "Name", "TAI"}

// IsCoordinate reports whether name is the coordinate that belongs on the
// zero-based header line of a Plex.
func IsCoordinate(name []byte, line int) bool {
	return line < CoordinateCount && string(name) == coordinateNames[line]
}
