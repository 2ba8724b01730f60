package cli

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/figures"
	"github.com/taktload/takt/internal/trace/reader"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// loadLog is a file with the rows of a ramp: the load format, as takt and the
// predecessor write it, or the seconds of takt trace seconds.
type loadLog struct {
	name    string
	spans   []figures.Step      // rows of the load format; nil: seconds has the rows
	seconds []figures.SecondRow // rows of takt trace seconds

	start           time.Time
	length          float64 // seconds
	asked           float64 // number of offered requests
	ok, failed      uint64
	lowest, highest float64 // range of the offered rates, per second
}

// readLoadLog reads a file; nil: the file is empty or begins like a report, or name is not a
// file, so it names a stored run.
func readLoadLog(name string) (*loadLog, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, nil // the caller asks the store
	}
	defer f.Close()
	in := bufio.NewReader(f)
	begin, _ := in.Peek(100)
	if len(begin) == 0 || begin[0] == '{' {
		return nil, nil
	}
	l := &loadLog{name: name, lowest: math.Inf(1)}
	if figures.IsSeconds(begin) {
		l.seconds, err = figures.ReadSeconds(in, nil)
	} else {
		l.spans, err = spansOf(name, in)
	}
	if err == nil && len(l.seconds)+len(l.spans) == 0 {
		err = errors.New("it is not a report, a load file or the output of takt trace seconds; give one of these, or the id of a run")
	}
	l.sum()
	return l, err
}

func spansOf(name string, in *bufio.Reader) ([]figures.Step, error) {
	r, err := reader.New(name, in, reader.Options{Format: "load"})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return figures.Steps(trace.Timed(r, trace.Timing{}))
}

// sum computes the totals for the report.
func (l *loadLog) sum() {
	add := func(at time.Time, seconds, offered float64, ok, failed uint64) {
		if l.start.IsZero() {
			l.start = at
		}
		l.length, l.asked = l.length+seconds, l.asked+offered*seconds
		l.ok, l.failed = l.ok+ok, l.failed+failed
		l.lowest, l.highest = min(l.lowest, offered), max(l.highest, offered)
	}
	for _, s := range l.spans {
		add(s.At, s.Seconds, s.Offered, s.OK, s.Failed)
	}
	for _, s := range l.seconds {
		add(s.At, 1, offeredIn(s), s.Requests-s.Errors, s.Errors)
	}
}

// offeredIn is the offered rate of a second, or the number of requests if the log has no rates.
func offeredIn(s figures.SecondRow) float64 {
	if s.Offered > 0 {
		return s.Offered
	}
	return float64(s.Requests)
}

// steps judges the rates. Each second of takt trace seconds is one step, because percentiles of
// several seconds cannot be merged.
func (l *loadLog) steps(slo capacity.SLO) (steps []capacity.Step, err error) {
	if l.spans != nil {
		var all []capacity.Stretch
		for _, s := range l.spans {
			all = append(all, stretchOf(s))
		}
		return capacity.StepsOfStretches(all, slo, "")
	}
	for _, s := range l.seconds {
		step, err := capacity.StepOf(secondReport(s), offeredIn(s), slo)
		if err != nil {
			return nil, fmt.Errorf("%w; a row of takt trace seconds has only mean, p50 and p99, the load file has all percentiles", err)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func stretchOf(s figures.Step) capacity.Stretch {
	return capacity.Stretch{Seconds: s.Seconds, Offered: s.Offered, Interval: takt.Interval{
		Scheduled: max(s.OK+s.Failed, uint64(math.Round(s.Offered*s.Seconds))), OK: s.OK, Failed: s.Failed, HDR: s.HDR, ServiceHDR: s.HDR,
	}}
}

func secondReport(s figures.SecondRow) *takt.Report {
	offered := offeredIn(s)
	latency := takt.Latency{Count: s.Requests, Mean: s.Mean * 1e6, P50: s.P50 * 1e6, P99: s.P99 * 1e6}
	return &takt.Report{
		DurationS: 1, Verdict: takt.Valid, Rate: takt.Rate{Intended: &offered, Achieved: float64(s.Requests)},
		Counts:  takt.Counts{Scheduled: s.Requests, Sent: s.Requests, OK: s.Requests - s.Errors, Failed: s.Errors},
		Latency: map[string]takt.Latency{takt.LatencyResponse: latency, takt.LatencyService: latency},
	}
}

// report is a report of the ramp, with what the file contains.
func (l *loadLog) report() *takt.Report {
	n := l.ok + l.failed
	return &takt.Report{
		SchemaVersion: takt.SchemaVersion, Tool: takt.Tool{Name: "takt", Version: core.Version, Go: runtime.Version()},
		StartedAt: l.start.UTC(), DurationS: l.length, Verdict: takt.Valid,
		Counts:    takt.Counts{Scheduled: n, Sent: n, OK: l.ok, Failed: l.failed},
		Variables: map[string]any{"from": l.name},
		Schedule:  takt.Schedule{Arrivals: "recorded", Stages: []takt.Stage{{DurationS: l.length, From: l.lowest, To: l.highest}}},
	}
}

// warn names what such a file cannot show.
func (l *loadLog) warn(r *takt.Report) {
	r.Warn(warn.GeneratorUnknown, "%s contains nothing about the generator, so it is unknown whether the generator was the bottleneck; latencies of takt's predecessor count from sending, so they do not include the generator's lateness", l.name)
	// The standard deviation of n Poisson arrivals is √n; a gap of 4√n is not chance.
	if rows := float64(l.ok + l.failed); l.asked-rows > max(0.01*l.asked, 4*math.Sqrt(l.asked)) {
		r.Warn(warn.RowsMissing, "%s has %.0f rows, but %.0f requests were offered: the others were not sent, or had no answer at the end", l.name, takt.Number("rows", rows), takt.Number("offered", l.asked))
	}
}
