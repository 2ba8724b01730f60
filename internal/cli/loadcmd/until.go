package loadcmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// goal is --until: the run ends when a percentile of the response time is known to a part of itself.
type goal struct {
	name  string // p99
	p     float64
	part  float64 // half of the interval ÷ percentile: 0.05
	looks proof.Looks
	known float64 // part at the newest look; 0: not known
	ended uint64  // operations at the look that ended the run; 0: none did
}

// parseUntil reads p99±5%, or p99+-5%, for keyboards without the sign.
func parseUntil(text string) (*goal, error) {
	name, part, found := strings.Cut(strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "+-", "±"), "±")
	digits, percent := strings.CutSuffix(part, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if !found || !percent || err != nil || !(v >= 0.1 && v <= 100) {
		return nil, fmt.Errorf("bad --until %q; write a percentile and 0.1 to 100 %%, as in p99±5%% or p99+-5%%", text)
	}
	var names []string
	for _, s := range proof.Intervals(new(takt.Latency)) {
		if s.Name == name {
			return &goal{name: name, p: s.P, part: v / 100}, nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("bad --until %q: unknown percentile %q; use one of %s", text, name, strings.Join(names, " "))
}

// checkUntil reads --until. Only one whole run in this process knows its own operations while it goes on.
func (l *load) checkUntil() error {
	if l.goal = nil; l.until == "" {
		return nil
	}
	g, err := parseUntil(l.until)
	switch {
	case err != nil:
		return value.Bad("until", l.until, err)
	case l.env.Fleet != nil || l.env.Side != nil || takt.IsShard(l.engine.Shard.String()):
		return value.Bad("until", l.until, fmt.Errorf("--until %s: a shard does not see the whole run; give its length with -z", l.until))
	case l.driver.Run != nil:
		return value.Bad("until", l.until, fmt.Errorf("--until %s: the run is in another program; give its length with -z", l.until))
	}
	l.goal = g
	return nil
}

// enough is engine.Plan.Enough of a run with --until; nil: there is none.
func (l *load) enough() func(ended uint64, sample func() *proof.Sample) bool {
	if l.goal == nil {
		return nil
	}
	g := *l.goal // --repeat: each run has its own looks
	l.reached = &g
	return g.look(func() {
		fmt.Fprintf(l.env.Stderr, "takt: %s is known to %s after %d operations; the run ends here\n", g.name, g.exact(), g.ended)
	})
}

// look looks at the looks of the goal. done is called when it is reached.
func (g *goal) look(done func()) func(uint64, func() *proof.Sample) bool {
	return func(ended uint64, sample func() *proof.Sample) bool {
		if !g.looks.Due(ended) {
			return false
		}
		part, ok := sample().Exact(g.p, proof.LookLevel)
		if g.known = 0; ok {
			g.known = part
		}
		if !ok || part > g.part {
			return false
		}
		g.ended = ended
		done()
		return true
	}
}

// exact says how exactly the percentile is known.
func (g *goal) exact() string { return stored.Until{Known: g.known}.Exact() }

// keepUntil writes into the report how exactly the percentile was known at the end.
func (l *load) keepUntil(r *takt.Report) {
	if g := l.reached; g != nil {
		stored.Until{Known: g.known, Reached: g.ended > 0}.Keep(r)
	}
}

// tellUntil says that a run ended before its percentile was known well enough.
func (l *load) tellUntil() {
	if g := l.reached; g != nil && g.ended == 0 {
		fmt.Fprintf(l.env.Stderr, "takt: --until %s was not reached: at the newest look there was %s\n", l.until, g.exact())
	}
}
