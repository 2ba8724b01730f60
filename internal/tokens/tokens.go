// Package tokens has what drivers count within answers, as reports contain it, and its merge: the tokens of a language model
// and the messages of gRPC calls.
package tokens

import (
	"math"

	"github.com/taktload/takt/pkg/takt"
)

// Key is the place of the tokens in Report.Extra.
const Key = "llm"

// Source is a set of ways to count tokens of output.
type Source uint8

// The ways to count them.
const (
	Usage Source = 1 << iota // the server's own number
	Parts                    // parts of the stream that have output
)

// String is s as reports have it. A run without good answers has no source, and says "parts".
func (s Source) String() string {
	switch s {
	case Usage:
		return "usage"
	case Usage | Parts:
		return "usage and parts"
	}
	return "parts"
}

// parse is the source that text names; ok is false if text is none.
func parse(text string) (s Source, ok bool) {
	for _, s = range []Source{Usage, Parts, Usage | Parts} {
		if s.String() == text {
			return s, true
		}
	}
	return 0, false
}

// Figures are the tokens of the good answers that were due in the measured time.
type Figures struct {
	Output, Input uint64
	Cached        uint64  // of the prompts, those that servers had in their caches
	Length        uint64  // answers that ended at the limit of tokens
	Cut           uint64  // answers of which conversations carry only the beginning
	From          Source  // how Output was counted
	Lasted        float64 // seconds from the start of the measured time to the end of the last answer, or of the schedule if that is later
}

// PerS is the rate of output tokens.
func (f Figures) PerS() float64 {
	if f.Lasted == 0 {
		return 0
	}
	return float64(f.Output) / f.Lasted
}

// counts are the counts of f by their names in reports. A report always has the first three.
func (f *Figures) counts() []count {
	return []count{
		{"output_tokens", &f.Output}, {"input_tokens", &f.Input}, {"length", &f.Length},
		{"cached_tokens", &f.Cached}, {"answers_cut", &f.Cut},
	}
}

type count struct {
	name string
	n    *uint64
}

const always = 3

// Extra are the figures as Report.Extra has them: plain values.
func (f Figures) Extra() map[string]any {
	x := map[string]any{"output_tokens_per_s": f.PerS(), "tokens_from": f.From.String()}
	for i, c := range f.counts() {
		if i < always || *c.n > 0 {
			x[c.name] = float64(*c.n)
		}
	}
	return x
}

// Of are the figures of a report; ok is false if it has none, or some that are not as Extra writes them.
func Of(r *takt.Report) (f Figures, ok bool) {
	x, ok := r.Extra[Key].(map[string]any)
	if !ok {
		return f, false
	}
	for i, c := range f.counts() {
		v, has := x[c.name]
		if !has && i >= always {
			continue
		}
		n, is := v.(float64)
		if !is || !(n >= 0 && n <= 1<<53) || n != math.Trunc(n) {
			return f, false
		}
		*c.n = uint64(n)
	}
	text, _ := x["tokens_from"].(string)
	rate, is := x["output_tokens_per_s"].(float64)
	if f.From, ok = parse(text); !ok || !is || !(rate >= 0) || (rate > 0) != (f.Output > 0) {
		return f, false
	}
	if f.Lasted = r.DurationS; rate > 0 {
		f.Lasted = float64(f.Output) / rate
	}
	return f, true
}

// Plus are the figures of both, at the same time.
func (f Figures) Plus(g Figures) Figures {
	switch { // who counted nothing has no source
	case f.Output == 0:
		f.From = g.From
	case g.Output > 0:
		f.From |= g.From
	}
	for i, c := range g.counts() {
		*f.counts()[i].n += *c.n
	}
	f.Lasted = max(f.Lasted, g.Lasted)
	return f
}

// Merge are the figures of a whole run, from the reports of its shards; ok is false if one has none.
func Merge(shards []*takt.Report) (x map[string]any, ok bool) {
	var whole Figures
	for _, r := range shards {
		f, ok := Of(r)
		if !ok {
			return nil, false
		}
		whole = whole.Plus(f)
	}
	return whole.Extra(), len(shards) > 0
}
