package answers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/judge/stats"
)

// Word is the verdict about the answers of head.
type Word string

// The words. Unproven: head differed at a place where base did not differ from itself, but too rarely to tell
// that from chance.
const (
	Same     Word = "same"
	Unproven Word = "unproven"
	Differ   Word = "differ"
)

// Result is what comparing the answers of head with those of base found.
type Result struct {
	Verdict     Word           `json:"verdict"`     // same, unproven or differ
	Asked       int            `json:"asked"`       // requests that were to be compared
	Requests    int            `json:"requests"`    // requests that were compared
	Differing   int            `json:"differing"`   // of these, requests whose answers differ at a place of Differences that is proven
	Share       float64        `json:"share"`       // Differing ÷ Requests, 0 to 1
	Low         float64        `json:"low"`         // lower end of the exact interval of the share
	High        float64        `json:"high"`        // upper end
	Confidence  float64        `json:"confidence"`  // of the intervals; and that no proven difference is chance
	Statuses    map[string]int `json:"statuses"`    // answers of base, by status
	Differences []Difference   `json:"differences"` // proven ones first, then the most frequent ones
	Varying     []Varying      `json:"varying"`     // places that are left out, because base differs from itself there
	Notes       []string       `json:"notes"`       // sentences: what was not compared
}

// Difference is a place where head answers other than base.
type Difference struct {
	Path     string  `json:"path"` // status, header NAME, body, or a path in JSON
	Kind     Kind    `json:"kind"`
	Proven   bool    `json:"proven"`   // it repeated, or is more frequent than chance explains
	Requests int     `json:"requests"` // that differ there
	Share    float64 `json:"share"`    // Requests ÷ those compared
	Low      float64 `json:"low"`      // lower end of the exact interval of the share
	High     float64 `json:"high"`     // upper end
	Base     int     `json:"base"`     // pairs of answers of base that differ there, too
	Example  Example `json:"example"`
}

// Example is the first difference at a place. Its texts are cut.
type Example struct {
	Request string `json:"request"`
	At      string `json:"at"`   // the path with positions in lists
	Base    string `json:"base"` // as JSON; "": not there
	Head    string `json:"head"`
}

// Varying is a place where two answers of base to one request differ.
type Varying struct {
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	Base int    `json:"base"` // pairs of answers of base that differ there
	Head int    `json:"head"` // pairs of base and head that differ there
}

// mostListed bounds the lists of a result.
const mostListed = 200

// Result judges the answers compared so far. asked is the number that was to be compared. The confidence is
// that of all conclusions together.
func (c *Comparer) Result(asked int, confidence float64) Result {
	r := Result{Verdict: Same, Asked: asked, Requests: c.compared, Confidence: confidence, Statuses: maps.Clone(c.base), Differences: []Difference{}, Varying: []Varying{}, Notes: []string{}}
	proven := c.decide(1 - confidence)
	for _, row := range c.order {
		switch {
		case row.head > 0 && (proven[row] || row.base == 0):
			r.Differences = append(r.Differences, c.difference(row, proven[row], confidence))
		case row.base > 0:
			r.Varying = append(r.Varying, Varying{row.path, row.kind, row.base, row.head})
		}
	}
	r.Differing = c.differing(proven)
	r.Share, r.Low, r.High = c.share(r.Differing, confidence)
	switch {
	case len(proven) > 0:
		r.Verdict = Differ
	case len(r.Differences) > 0 || c.compared == 0:
		r.Verdict = Unproven
	}
	sortDifferences(r.Differences)
	slices.SortStableFunc(r.Varying, func(a, b Varying) int { return cmp.Or(b.Base-a.Base, cmp.Compare(a.Path, b.Path)) })
	c.notes(&r)
	return r
}

// decide finds the rows that chance does not explain. Where base never differs, a difference that repeats is one.
// Elsewhere head has to differ from base more often than base differs from itself.
func (c *Comparer) decide(alpha float64) map[*row]bool {
	var open []*row
	var p []float64
	proven := map[*row]bool{}
	for _, r := range c.order {
		switch {
		case r.head == 0:
		case r.base == 0 && r.repeated:
			proven[r] = true
		default:
			open, p = append(open, r), append(p, stats.MoreOften(r.head, c.compared, r.base, c.learned))
		}
	}
	for i, level := range stats.Holm(p, alpha) {
		if p[i] <= level {
			proven[open[i]] = true
		}
	}
	return proven
}

func (c *Comparer) difference(r *row, proven bool, confidence float64) Difference {
	d := Difference{Path: r.path, Kind: r.kind, Proven: proven, Requests: r.head, Base: r.base, Example: r.example}
	d.Share, d.Low, d.High = c.share(r.head, confidence)
	return d
}

func (c *Comparer) share(n int, confidence float64) (share, low, high float64) {
	if c.compared == 0 {
		return 0, 0, 1
	}
	low, high = proof.Proportion(n, c.compared, confidence)
	return float64(n) / float64(c.compared), low, high
}

// differing counts the requests that differ at a proven place.
func (c *Comparer) differing(proven map[*row]bool) int {
	pairs := map[int32]bool{}
	for _, m := range c.marks {
		if proven[m.row.final()] {
			pairs[m.pair] = true
		}
	}
	return len(pairs)
}

func sortDifferences(list []Difference) {
	rank := func(d Difference) int {
		if d.Proven {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Difference) int {
		return cmp.Or(rank(a)-rank(b), b.Requests-a.Requests)
	})
}

// notes says what the comparison does not cover.
func (c *Comparer) notes(r *Result) {
	add := func(format string, args ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, args...)) }
	if n := len(r.Differences) - mostListed; n > 0 {
		add("%d more places differ, which are not listed", n)
		r.Differences = r.Differences[:mostListed]
	}
	if n := len(r.Varying) - mostListed; n > 0 {
		add("base varies in %d more places, which are not listed", n)
		r.Varying = r.Varying[:mostListed]
	}
	if c.lost > 0 {
		add("the answers differ in more than %d places; those that came after these are not counted; leave out what may differ with --answers-ignore", mostRows)
	}
	if c.cut > 0 {
		add("%d answers of base were longer than %d MiB; of those, takt compared the bytes, at most %d MiB, and not their JSON", c.cut, MostKept>>20, MostRead>>20)
	}
	good := 0
	for status, n := range c.base {
		if strings.HasPrefix(status, "2") {
			good += n
		}
	}
	if good == 0 && c.compared > 0 {
		add("base answered no request with success (%s), so equal answers say little; check the load", strings.Join(slices.Sorted(maps.Keys(c.base)), ", "))
	}
	if !maps.Equal(c.coding[0], c.coding[1]) {
		add("the bodies are compressed differently, which is not a difference of the answers: base %s; head %s", codings(c.coding[0]), codings(c.coding[1]))
	}
}

// codings are counts of Content-Encoding, as text.
func codings(counts map[string]int) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s %d", foreign.Cut(cmp.Or(name, "none"), 20), counts[name]))
	}
	return cmp.Or(strings.Join(list, ", "), "no body")
}

// The bounds of the texts of an example, in characters.
const (
	mostRequest = 120
	mostValue   = 80
)

func (c *Comparer) example(f found, base *Answer) Example {
	return Example{
		Request: foreign.Cut(c.hide(base.Request), mostRequest), At: f.at.at(),
		Base: foreign.Cut(c.hide(show(f.base)), mostValue), Head: foreign.Cut(c.hide(show(f.head)), mostValue),
	}
}

// show is a value as JSON.
func show(v any) string {
	switch v := v.(type) {
	case absent:
		return ""
	case words:
		return string(v)
	case json.Number:
		return string(v)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil { // values of JSON have no error
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Sentence says what was found, in one line.
func (r Result) Sentence() string {
	of := fmt.Sprintf("%d requests", r.Requests)
	if r.Requests < r.Asked {
		of = fmt.Sprintf("%d of %d requests", r.Requests, r.Asked)
	}
	switch {
	case r.Verdict == Differ && r.Differing > 0:
		return fmt.Sprintf("head answers %d of %s differently (%s %%, interval %s to %s %%)", r.Differing, of, percent(r.Share), percent(r.Low), percent(r.High))
	case r.Requests == 0:
		return "no request was compared"
	case r.Verdict == Unproven:
		return fmt.Sprintf("a difference in %s may be chance: it did not repeat", of)
	}
	return fmt.Sprintf("%s, no difference; at most %s %% of such requests differ", of, percent(r.High))
}

// percent is a share with three significant digits.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 3, 64) }
