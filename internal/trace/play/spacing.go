package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/figures"
	"github.com/taktload/takt/internal/trace/reader"
	"github.com/taktload/takt/pkg/schedule"
)

// lateMost is the share of requests out of order above which a log has no spacing to speak of.
const lateMost = 0.01

// Spacing reads as many requests of a log as a schedule has room for, or all. A stamp in whole seconds says only in
// which second a request came: its place in the second is drawn with the seed, as of Poisson arrivals, because even
// spacing would make the load smoother than that of users who come independently. coarse says why the short gaps
// are not those of the log; "": they are. The end of ctx ends the reading.
func Spacing(ctx context.Context, name string, seed, room uint64) (p *schedule.Pattern, coarse string, err error) {
	settings := reader.Settings{Rules: trace.Rules{Methods: []string{"*"}}}
	log, err := settings.Open(ctx, []string{name}, nil)
	if err != nil {
		return nil, "", advised(err)
	}
	defer log.Close()
	p = schedule.NewPattern(name)
	stamps := &figures.Stamps{Src: log}
	timed := trace.Timed(stamps, trace.Timing{Jitter: trace.Poisson, Seed: seed})
	var first time.Time
	var rec trace.Record
	for ctx.Err() == nil && (uint64(p.Len()) < max(room, 2) || rec.At.Equal(first)) {
		if err = timed.Next(&rec); err != nil {
			break
		}
		if rec.At.IsZero() {
			return nil, "", errors.New("the log has requests without times; give a log with times")
		}
		if first.IsZero() {
			first = rec.At
		}
		if !p.Add(rec.At.Sub(first)) {
			break
		}
	}
	switch late := timed.Late(); {
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case err != nil && err != io.EOF:
		return nil, "", err
	case p.Len() == 0:
		left := log.Left()
		return nil, "", advised(log.Nothing([]string{name}, &left))
	case float64(late.Count) > lateMost*float64(p.Len()):
		return nil, "", fmt.Errorf("more than %v %% of the requests are out of order by more than takt sorts, by up to %s; sort the log by time", 100*lateMost, trace.Span(late.Most))
	}
	if err := (schedule.Spec{Stages: schedule.Constant(1, 0).Stages, Like: p}).Validate(); err != nil {
		return nil, "", err
	}
	if unit, mean := stamps.Resolution(), rec.At.Sub(first)/time.Duration(p.Len()-1); figures.Blurs(unit, mean) {
		coarse = fmt.Sprintf("are multiples of %v, and the mean gap is %s", unit, figure.Duration(mean))
	}
	return p, coarse, nil
}

// advised is an error that may say to give the format of the log, for which a load has no flag.
func advised(err error) error {
	if !strings.Contains(err.Error(), "--format") {
		return err
	}
	return fmt.Errorf("%w; takt trace convert has that flag, and writes a log without need of it", err)
}
