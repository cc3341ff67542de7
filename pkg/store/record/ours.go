package record

// The decisions about the record format that are ours: the published pages do
// not state them. docs/format/records.md lists them with their reasons; the ones about
// facts are in pkg/store/fact/ours.go.
const (
	// MaxCoordinatesLen bounds the four coordinate lines of a Plex together,
	// in bytes with their LFs.
	MaxCoordinatesLen = 512
	// MaxExtraLen bounds the extra header lines of a Plex together, in bytes
	// with their LFs. With MaxCoordinatesLen it makes the greatest Seal come
	// out at the published MaxRecordLen.
	MaxExtraLen = 65_536
	// MaxRecordLen is the length in bytes of the greatest Seal. It is published,
	// and it also bounds Seals with an older, longer pair of signature lines,
	// so that no record of any revision exceeds it (ours).
	MaxRecordLen = 33_620_814
)

// Reserved reports whether name is reserved for the structure of records, so
// that it may not name an extra header of a Plex. A header named with the
// glyph would read as the glyph line of an embedded record.
func Reserved(name []byte) bool {
	switch string(name) {
	case "Group", "App", "Name", "TAI", "By", "Mark", "Data-Length", "🖧":
		return true
	}
	return false
}

// sealPairs are the names of a Seal's two lines in all revisions. The first
// pair is the one that is written; all are read, also on admission, since a
// record cannot be rewritten without another hash.
var sealPairs = [...][2]string{
	{"By", "Mark"},
	{"Seal-By", "Seal-Sig"},
	{"Signed-By", "Signature"},
}
