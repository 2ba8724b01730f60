package trace

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rules say which records are replayed. The zero value is safe: only GET and HEAD, and all
// of them.
type Rules struct {
	Methods  []string       // nil: GET and HEAD; "*": all
	Path     *regexp.Regexp // pattern that the URI must match; nil: any
	NotPath  *regexp.Regexp // pattern that the URI must not match; nil: none
	Statuses Statuses       // recorded statuses; nil: any
	Share    float64        // share of the clients, above 0 and below 1; 0 or 1: all
}

// Selection is a stream of the records that fulfil the Rules.
type Selection struct {
	src    Stream
	rules  Rules
	bound  uint64 // clients with a hash below it are kept; MaxUint64: all
	method string // why a method is left out
	left   Left
}

// Reasons for which the rules leave a request out, beside its method.
const (
	leftByPath   = "the URI does not pass --path and --not-path"
	leftByStatus = "the recorded status is not one of --status"
	leftByClient = "the client is not in --sample"
)

// Select keeps the records that fulfil the rules.
func Select(src Stream, rules Rules) *Selection {
	if rules.Methods == nil {
		rules.Methods = []string{"GET", "HEAD"}
	}
	s := &Selection{src: src, rules: rules, bound: math.MaxUint64, method: "the method is not " + listed(rules.Methods) + " (--methods)"}
	if rules.Share > 0 && rules.Share < 1 {
		s.bound = uint64(rules.Share * (1 << 63) * 2)
	}
	return s
}

// listed is A, B or C.
func listed(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Left is what was left out so far.
func (s *Selection) Left() *Left { return &s.left }

// Next implements Stream.
func (s *Selection) Next(rec *Record) error {
	for {
		if err := s.src.Next(rec); err != nil {
			return err
		}
		why := s.refusal(rec)
		if why == "" {
			return nil
		}
		s.left.Add(NotChosen, why, rec.File, rec.Line)
	}
}

// refusal is why the rules refuse rec; "": they do not.
func (s *Selection) refusal(rec *Record) string {
	r := &s.rules
	switch {
	case !r.method(rec.Method):
		return s.method
	case r.Path != nil && !r.Path.Match(rec.URI), r.NotPath != nil && r.NotPath.Match(rec.URI):
		return leftByPath
	case r.Statuses != nil && !r.Statuses.has(rec.Status):
		return leftByStatus
	case s.bound != math.MaxUint64 && ClientHash(rec) >= s.bound:
		return leftByClient
	}
	return ""
}

func (r *Rules) method(m []byte) bool {
	return slices.ContainsFunc(r.Methods, func(ok string) bool { return ok == "*" || ok == string(m) })
}

// ClientHash is the same for all requests of a client, on every machine; without a client it
// depends on the line. It is FNV-1a (Fowler, Noll, Vo), then the finisher of SplitMix64
// (Steele, Lea, Flood 2014), because FNV leaves the high bits of similar addresses alike.
func ClientHash(rec *Record) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range rec.Client {
		h = (h ^ uint64(b)) * 1099511628211
	}
	if len(rec.Client) == 0 {
		h ^= uint64(rec.Line)
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Statuses is a list of ranges of status codes, ends included.
type Statuses [][2]int

// String implements flag.Value.
func (s *Statuses) String() string {
	var parts []string
	for _, r := range *s {
		parts = append(parts, fmt.Sprintf("%d-%d", r[0], r[1]))
	}
	return strings.Join(parts, ",")
}

// Set implements flag.Value: 200, 200-299 or 2xx, separated by commas.
func (s *Statuses) Set(text string) error {
	*s = nil
	for word := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(word), "-")
		if !isRange {
			to = from
		}
		low, err := strconv.Atoi(strings.ReplaceAll(from, "x", "0"))
		high, highErr := strconv.Atoi(strings.ReplaceAll(to, "x", "9"))
		if err != nil || highErr != nil || len(from) != 3 || len(to) != 3 || low > high {
			return fmt.Errorf("%.60q is not a status; write 200, 200-299 or 2xx, separated by commas", word)
		}
		*s = append(*s, [2]int{low, high})
	}
	return nil
}

func (s Statuses) has(status int) bool {
	return slices.ContainsFunc(s, func(r [2]int) bool { return status >= r[0] && status <= r[1] })
}
