package stored

import (
	"fmt"
	"strings"
	"time"
)

// The labels that name the thing under test.
const (
	LabelBranch       = "branch"
	LabelRevision     = "revision"
	LabelRevisionDate = "revision_date" // read by ParseRevisionDate
)

// ParseRevisionDate reads a label revision_date: RFC 3339, or a day such as 2026-01-31, which means
// its start in UTC.
func ParseRevisionDate(s string) (time.Time, error) {
	layout := time.RFC3339
	if len(s) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("revision_date %q is not a date; give one such as 2026-01-31T18:00:00Z, or 2026-01-31", s)
	}
	return t.UTC(), nil
}

// RevisionDate is the date of the run's revision; the zero time if the label is missing or is not a
// date.
func RevisionDate(r *Run) time.Time {
	date, _ := ParseRevisionDate(r.Labels[LabelRevisionDate])
	return date
}

const (
	shortHash = 7  // digits, the shortest hash that git shows by default
	wholeHash = 40 // digits of SHA-1
)

// BeginsHash reports whether s can be the start of a hash that names a revision, but not a whole hash.
// A suffix after a hyphen, such as dirty, is not part of the hash.
func BeginsHash(s string) bool {
	digits, _, _ := strings.Cut(s, "-")
	return len(digits) >= shortHash && len(digits) < wholeHash && strings.Trim(digits, "0123456789abcdef") == ""
}

// ShortRevision shortens only hashes, as git does: -dirty stays, and a date has no letters.
func ShortRevision(s string) string {
	const short = 12
	hash, _, _ := strings.Cut(s, "-")
	if len(hash) <= short || strings.Trim(hash, "0123456789abcdef") != "" || !strings.ContainsAny(hash, "abcdef") {
		return s
	}
	return hash[:short] + s[len(hash):]
}

// IsDirty reports whether a revision is of a working tree with uncommitted changes. Two runs of it may be of
// different code.
func IsDirty(revision string) bool { return strings.HasSuffix(revision, "-dirty") }

// SameRevision compares a label with an operand, which may be the start of a hash. A label without
// letters is a date or a number, and its start would be another date or number.
func SameRevision(label, operand string) bool {
	if label == operand || !BeginsHash(operand) {
		return label == operand
	}
	hash, rest, _ := strings.Cut(label, "-")
	digits, wanted, _ := strings.Cut(operand, "-")
	return rest == wanted && strings.HasPrefix(hash, digits) &&
		strings.Trim(hash, "0123456789abcdef") == "" && strings.ContainsAny(hash, "abcdef")
}

// Dated is the date of the run's revision, or if it is not known, the start of the run.
func Dated(r *Run) time.Time {
	if d := RevisionDate(r); !d.IsZero() {
		return d
	}
	return r.StartedAt
}
