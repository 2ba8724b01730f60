package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/figures"
	"github.com/taktload/takt/internal/trace/order"
	"github.com/taktload/takt/internal/trace/reading"
	"github.com/taktload/takt/internal/trace/requests"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// arrivals is what --arrivals says.
type arrivals struct {
	kind string  // uniform, poisson, gamma: or like:
	cv   float64 // of gamma:
	log  string  // of like:
}

// parseArrivals reads uniform, poisson, gamma:CV or like:LOG.
func parseArrivals(text string) (arrivals, error) {
	cv, isGamma := strings.CutPrefix(text, gamma)
	log, isLike := strings.CutPrefix(text, like)
	switch {
	case text == uniform || text == poisson:
		return arrivals{kind: text}, nil
	case isGamma:
		n, err := strconv.ParseFloat(cv, 64)
		switch {
		case err == nil && n == 0:
			return arrivals{}, errors.New("gamma:0 is even spacing; use uniform")
		case err != nil || !(n >= schedule.MinCV && n <= schedule.MaxCV):
			return arrivals{}, fmt.Errorf("%.60q is not a coefficient of variation; give a number from %v to %v, such as gamma:3 for bursts; gamma:1 is poisson", cv, schedule.MinCV, schedule.MaxCV)
		}
		return arrivals{kind: gamma, cv: n}, nil
	case isLike && log == value.Stdio:
		return arrivals{}, errors.New("like:- is not possible, because each run reads the log; give the name of a file")
	case isLike && log != "":
		return arrivals{kind: like, log: log}, nil
	case isLike:
		return arrivals{}, errors.New("like: needs a log; give a file, such as like:access.log")
	}
	return arrivals{}, fmt.Errorf("%.60q is unknown; use uniform, poisson, gamma:CV or like:LOG", text)
}

// String is the text that parseArrivals reads, the same for equal arrivals: it is a variable of the run.
func (a arrivals) String() string {
	if a.kind == gamma {
		return gamma + strconv.FormatFloat(a.cv, 'g', -1, 64)
	}
	return a.kind + a.log
}

// arrivalsFlag is the value of --arrivals. A session may name only logs in its folder.
type arrivalsFlag struct{ text *string }

// Set implements pflag.Value.
func (f arrivalsFlag) Set(text string) error {
	a, err := parseArrivals(text)
	if err == nil {
		*f.text = a.String()
	}
	return err
}

// String implements pflag.Value.
func (f arrivalsFlag) String() string { return *f.text }

// Type implements pflag.Value.
func (arrivalsFlag) Type() string { return "string" }

// Choices implements value.Chooser.
func (arrivalsFlag) Choices() []string { return []string{uniform, poisson, gamma, like} }

// Names implements value.Flag.
func (arrivalsFlag) Names(text string) []value.Name {
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
	blurred string // why short gaps are not those of the log; "": they are
}

// ReadArrivals reads the log of --arrivals like:LOG, if that was given and the log was not read yet; Source does so,
// too. The end of ctx ends the reading.
func (o *Options) ReadArrivals(ctx context.Context) error {
	a, err := parseArrivals(o.Arrivals)
	if err != nil || a.kind != like || o.Closed() || o.Recorded || o.recording != nil && o.recording.given {
		return nil // Spec returns the error
	}
	r := recording{log: a.log, seed: o.Seed, need: o.room()}
	if old := o.recording; old != nil && old.log == r.log && old.seed == r.seed && old.need == r.need {
		return nil
	}
	if err := r.read(ctx); err != nil {
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

// lateMost is the share of requests out of order above which a log has no spacing to speak of.
const lateMost = 0.01

// read reads as many requests of the log as the schedule has room for. A stamp in whole seconds says only in which
// second a request came: its place in the second is drawn, as of Poisson arrivals, because even spacing would make
// the load smoother than that of users who come independently.
func (r *recording) read(ctx context.Context) error {
	settings := reading.Settings{Rules: requests.Rules{Methods: []string{"*"}}}
	log, err := settings.Open(ctx, []string{r.log}, nil)
	if err != nil {
		return err
	}
	defer log.Close()
	r.pattern = schedule.NewPattern(r.log)
	stamps := &figures.Stamps{Src: log}
	timed := order.Timed(stamps, order.Timing{Jitter: order.Poisson, Seed: r.seed})
	var first time.Time
	var rec trace.Record
	for ctx.Err() == nil && (uint64(r.pattern.Len()) < max(r.need, 2) || rec.At.Equal(first)) {
		if err = timed.Next(&rec); err != nil {
			break
		}
		if rec.At.IsZero() {
			return errors.New("the log has requests without times; give a log with times")
		}
		if first.IsZero() {
			first = rec.At
		}
		if !r.pattern.Add(rec.At.Sub(first)) {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err = r.check(log, timed, err); err != nil {
		return err
	}
	if unit, mean := stamps.Resolution(), rec.At.Sub(first)/time.Duration(r.pattern.Len()-1); figures.Blurs(unit, mean) {
		r.blurred = fmt.Sprintf("are multiples of %v, and the mean gap is %s", unit, figure.Micros(float64(mean)/1e3))
	}
	return nil
}

// check says what is wrong with a log that was read until err.
func (r *recording) check(log *reading.Log, timed *order.TimedStream, err error) error {
	n := r.pattern.Len()
	late := timed.Late()
	switch spec := (schedule.Spec{Stages: schedule.Constant(1, 0).Stages, Like: r.pattern}); {
	case err != nil && err != io.EOF:
		return err
	case n == 0:
		left := log.Left()
		return log.Nothing([]string{r.log}, &left)
	case float64(late.Count) > lateMost*float64(n):
		return fmt.Errorf("more than %v %% of the requests are out of order by more than takt sorts, by up to %s; sort the log by time", 100*lateMost, trace.Span(late.Most))
	default:
		return spec.Validate()
	}
}

// repeatedMost is how many operations there may be for each arrival of the log without a warning.
const repeatedMost = 1.05

// warn says what of the spacing is not that of the log, for one of so many shards.
func (r *recording) warn(rep *takt.Report, shards uint64) {
	n := r.pattern.Len()
	if r.blurred != "" {
		rep.Warn(warn.ArrivalsDrawn, "the stamps of %s %s: where within its stamp a request came was drawn at random, so the short gaps are those of Poisson arrivals; %s",
			r.log, r.blurred, takt.Advice("log fractions of a second"))
	}
	if times := float64(shards*(rep.Counts.Scheduled+rep.WarmupCounts.Scheduled)) / float64(n); times > repeatedMost {
		rep.Warn(warn.ArrivalsRepeated, "%s has %s, and the schedule %s times as many operations: the same bursts came again and again; %s",
			r.log, figure.Plural(n, "request"), takt.Number("times", times).As(strconv.FormatFloat(times, 'g', 3, 64)), takt.Advice("give a longer log, or make the run shorter"))
	}
}

// take sets the arrivals of a schedule. Those of a log are in it once the log was read.
func (o *Options) take(s *schedule.Spec) error {
	if r := o.recording; r != nil && r.given {
		s.Like = r.pattern
		return nil
	}
	a, err := parseArrivals(o.Arrivals)
	if err != nil {
		return value.About(err, "arrivals")
	}
	s.Poisson, s.Gamma = a.kind == poisson, a.cv
	if a.kind == like && o.recording != nil {
		s.Like = o.recording.pattern
	}
	return nil
}

// unread reports whether the arrivals are those of a log that was not read yet.
func (o *Options) unread() bool {
	a, err := parseArrivals(o.Arrivals)
	return err == nil && a.kind == like && o.recording == nil && !o.Closed()
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
