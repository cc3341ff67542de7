package fact

import "github.com/lace-store/lace/pkg/store/record"

// The decisions about facts that are ours; docs/format/records.md lists them with
// their reasons. Beyond what stands here: a Seal has the fields of the Plex it
// carries, so that sealed content can be selected like unsealed, and the index
// of a field is its zero-based ordinal among the fields of its name.

// verifierField names the verifier of a Seal in every revision of the format,
// so that a policy need not know how the line is spelled.
const verifierField = "By"

// splitLink reads a header value as a link: a typed hash behind the last
// space, or alone. The data is what stands before that space.
func splitLink(value []byte) (data, target []byte, ok bool) {
	at := len(value) - record.HashLen
	if at < 0 || at > 0 && value[at-1] != ' ' {
		return nil, nil, false
	}
	target = value[at:]
	if !record.IsHash(target) {
		return nil, nil, false
	}
	return value[:max(at-1, 0)], target, true
}
