package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// Arrivals is the spacing of operations: uniform, poisson, gamma:CV or like:LOG. The zero value is uniform.
type Arrivals struct {
	kind string  // "" (uniform), poisson, gamma: or like:
	cv   float64 // of gamma:
	log  string  // of like:
}

// MustArrivals is the value of a text that is known to be right; otherwise it panics.
func MustArrivals(text string) Arrivals {
	a, err := parseArrivals(text)
	if err != nil {
		panic(err)
	}
	return a
}

// parseArrivals reads uniform, poisson, gamma:CV or like:LOG.
func parseArrivals(text string) (Arrivals, error) {
	cv, isGamma := strings.CutPrefix(text, gamma)
	log, isLike := strings.CutPrefix(text, like)
	switch {
	case text == uniform:
		return Arrivals{}, nil
	case text == poisson:
		return Arrivals{kind: text}, nil
	case isGamma:
		n, err := strconv.ParseFloat(cv, 64)
		switch {
		case err == nil && n == 0:
			return Arrivals{}, errors.New("gamma:0 is even spacing; use uniform")
		case err != nil || !(n >= schedule.MinCV && n <= schedule.MaxCV):
			return Arrivals{}, fmt.Errorf("%.60q is not a coefficient of variation; give a number from %v to %v, such as gamma:3 for bursts; gamma:1 is poisson", cv, schedule.MinCV, schedule.MaxCV)
		}
		return Arrivals{kind: gamma, cv: n}, nil
	case isLike && log == value.Stdio:
		return Arrivals{}, errors.New("like:- is not possible, because each run reads the log; give the name of a file")
	case isLike && log != "":
		return Arrivals{kind: like, log: log}, nil
	case isLike:
		return Arrivals{}, errors.New("like: needs a log; give a file, such as like:access.log")
	}
	return Arrivals{}, fmt.Errorf("%.60q is unknown; use uniform, poisson, gamma:CV or like:LOG", text)
}

// arrivalsOf is the spacing of a schedule. A program may have made the log.
func arrivalsOf(s schedule.Spec) Arrivals {
	switch {
	case s.Like != nil:
		return Arrivals{kind: like, log: strings.TrimPrefix(s.Arrivals(), like)}
	case s.Gamma != 0:
		return Arrivals{kind: gamma, cv: s.Gamma}
	case s.Poisson:
		return Arrivals{kind: poisson}
	}
	return Arrivals{}
}

// String is the text that Set reads, the same for equal arrivals: it is a variable of the run.
func (a Arrivals) String() string {
	switch a.kind {
	case "":
		return uniform
	case gamma:
		return gamma + strconv.FormatFloat(a.cv, 'g', -1, 64)
	}
	return a.kind + a.log
}

// Set implements pflag.Value. A refused text changes nothing.
func (a *Arrivals) Set(text string) error {
	read, err := parseArrivals(text)
	if err == nil {
		*a = read
	}
	return err
}

// Type implements pflag.Value.
func (*Arrivals) Type() string { return "string" }

// Choices implements value.Chooser.
func (*Arrivals) Choices() []string { return []string{uniform, poisson, gamma, like} }

// Names implements value.Flag. A session may name only logs in its folder.
func (*Arrivals) Names(text string) []value.Name {
	if a, err := parseArrivals(text); err == nil && a.log != "" {
		return []value.Name{{Kind: value.Reads, Text: a.log}}
	}
	return nil
}

// recording is the log of like:LOG, as read for one schedule.
type recording struct {
	pattern *schedule.Pattern
	log     string
	seed    uint64 // that spread the arrivals of one stamp
	need    uint64 // arrivals that the schedule has room for
	given   bool   // a program made the pattern; there is no log
	coarse  string // as of ReadLog
}

// ReadArrivals reads the log of --arrivals like:LOG, if that was given and the log was not read yet; Source does so,
// too. The end of ctx ends the reading.
func (o *Options) ReadArrivals(ctx context.Context) error {
	a := o.Arrivals
	if a.kind != like || o.Closed() || o.Recorded || o.recording != nil && o.recording.given {
		return nil
	}
	r := recording{log: a.log, seed: o.Seed, need: o.room()}
	if old := o.recording; old != nil && old.log == r.log && old.seed == r.seed && old.need == r.need {
		return nil
	}
	if o.ReadLog == nil {
		return value.Faultf("--arrivals like:%s: this program cannot read logs; use takt, or arrivals of another kind", a.log)
	}
	var err error
	if r.pattern, r.coarse, err = o.ReadLog(ctx, r.log, r.seed, r.need); err != nil {
		return value.About(fmt.Errorf("--arrivals like:%s: %w", a.log, err), "arrivals")
	}
	o.recording = &r
	return nil
}

// room is the expected number of operations of the schedule, at most schedule.MaxPattern.
func (o *Options) room() uint64 {
	spec, err := o.Spec()
	if err != nil {
		return 0
	}
	spec.Like = nil
	return uint64(min(spec.Most(), schedule.MaxPattern))
}

// ReadLog reads the arrivals of a log for a schedule with room for so many: trace/play.Spacing. coarse says why the
// short gaps are not those of the log; "": they are.
type ReadLog func(ctx context.Context, log string, seed, room uint64) (p *schedule.Pattern, coarse string, err error)

// repeatedMost is how many operations there may be for each arrival of the log without a warning.
const repeatedMost = 1.05

// warn says what of the spacing is not that of the log, for one of so many shards.
func (r *recording) warn(rep *takt.Report, shards uint64) {
	n := r.pattern.Len()
	if r.coarse != "" {
		rep.Warn(warn.ArrivalsDrawn, "the stamps of %s %s: where within its stamp a request came was drawn at random, so the short gaps are those of Poisson arrivals; %s",
			r.log, r.coarse, takt.Advice("log fractions of a second"))
	}
	if times := float64(shards*(rep.Counts.Scheduled+rep.WarmupCounts.Scheduled)) / float64(n); times > repeatedMost {
		rep.Warn(warn.ArrivalsRepeated, "%s has %s, and the schedule %s times as many operations: the same bursts came again and again; %s",
			r.log, figure.Plural(n, "request"), takt.Number("times", times).As(strconv.FormatFloat(times, 'g', 3, 64)), takt.Advice("give a longer log, or make the run shorter"))
	}
}

// take sets the arrivals of a schedule. Those of a log are in it once the log was read.
func (o *Options) take(s *schedule.Spec) {
	if r := o.recording; r != nil && r.given {
		s.Like = r.pattern
		return
	}
	s.Poisson, s.Gamma = o.Arrivals.kind == poisson, o.Arrivals.cv
	if o.Arrivals.kind == like && o.recording != nil {
		s.Like = o.recording.pattern
	}
}

// unread reports whether the arrivals are those of a log that was not read yet.
func (o *Options) unread() bool {
	return o.Arrivals.kind == like && o.recording == nil && !o.Closed()
}

// Most is the largest number of operations, with those of the warm-up, that one of so many shards gets of the
// schedule; 0: unknown. A schedule of random arrivals has more in one of 10⁹ runs.
func (o *Options) Most(shards int) uint64 {
	spec, err := o.Spec()
	if err != nil || spec.Closed() || o.unread() {
		return 0
	}
	if most := spec.Most(); !math.IsInf(most, 1) {
		return uint64(most/float64(shards)) + 2
	}
	return 0
}
