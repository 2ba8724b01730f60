package cli

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// loadLog is a file with the rows of a ramp: the load format, as takt and the
// predecessor write it, or the seconds of takt trace seconds.
type loadLog struct {
	name    string
	spans   []trace.Step      // of the load format
	seconds []trace.SecondRow // else

	start           time.Time
	length          float64 // s
	asked           float64 // requests that were offered
	ok, failed      uint64
	lowest, highest float64 // the range of the offered rates, per second
}

// readLoadLog reads a file; nil when it begins like a report, or is no file, and so a
// run of the store.
func readLoadLog(name string) (*loadLog, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil // the store is asked
	}
	defer f.Close()
	in := bufio.NewReader(f)
	begin, _ := in.Peek(100)
	if len(begin) == 0 || begin[0] == '{' {
		return nil, nil
	}
	l := &loadLog{name: name, lowest: math.Inf(1)}
	if trace.IsSeconds(begin) {
		l.seconds, err = trace.ReadSeconds(in, nil)
	} else {
		l.spans, err = spansOf(name, in)
	}
	if err == nil && len(l.seconds)+len(l.spans) == 0 {
		err = errors.New("it is no report, no load file and no file of takt trace seconds; give one, or the id of a run")
	}
	l.sum()
	return l, err
}

func spansOf(name string, in *bufio.Reader) ([]trace.Step, error) {
	r, err := trace.NewReader(name, in, trace.Options{Format: "load"})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return trace.Steps(trace.Timed(r, trace.Timing{}))
}

// sum adds up what a report says of the whole.
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

// offeredIn is the offered rate of a second; of a log without rates what was sent.
func offeredIn(s trace.SecondRow) float64 {
	if s.Offered > 0 {
		return s.Offered
	}
	return float64(s.Requests)
}

// steps judges the rates. A second of takt trace seconds is a step by itself, for
// percentiles of several seconds cannot be put together.
func (l *loadLog) steps(slo analysis.SLO) (steps []analysis.CapacityStep, err error) {
	if l.spans != nil {
		var all []analysis.Stretch
		for _, s := range l.spans {
			all = append(all, stretchOf(s))
		}
		return analysis.StepsOfStretches(all, slo, "")
	}
	for _, s := range l.seconds {
		step, err := analysis.StepOf(secondReport(s), offeredIn(s), slo)
		if err != nil {
			return nil, fmt.Errorf("%w; a row of a second has mean, p50 and p99, the load file has all", err)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func stretchOf(s trace.Step) analysis.Stretch {
	return analysis.Stretch{Seconds: s.Seconds, Offered: s.Offered, Interval: takt.Interval{
		Scheduled: max(s.OK+s.Failed, uint64(math.Round(s.Offered*s.Seconds))), OK: s.OK, Failed: s.Failed, HDR: s.HDR, ServiceHDR: s.HDR,
	}}
}

func secondReport(s trace.SecondRow) *takt.Report {
	offered := offeredIn(s)
	latency := takt.Latency{Count: s.Requests, Mean: s.Mean * 1e6, P50: s.P50 * 1e6, P99: s.P99 * 1e6}
	return &takt.Report{
		DurationS: 1, Verdict: takt.Valid, Rate: takt.Rate{Intended: &offered, Achieved: float64(s.Requests)},
		Counts:  takt.Counts{Scheduled: s.Requests, Sent: s.Requests, OK: s.Requests - s.Errors, Failed: s.Errors},
		Latency: map[string]takt.Latency{takt.LatencyResponse: latency, takt.LatencyService: latency},
	}
}

// report is that of the ramp, as far as the file tells.
func (l *loadLog) report() *takt.Report {
	n := l.ok + l.failed
	return &takt.Report{
		SchemaVersion: takt.SchemaVersion, Tool: takt.Tool{Name: "takt", Version: version, Go: runtime.Version()},
		StartedAt: l.start.UTC(), DurationS: l.length, Verdict: takt.Valid,
		Counts:    takt.Counts{Scheduled: n, Sent: n, OK: l.ok, Failed: l.failed},
		Variables: map[string]any{"from": l.name},
		Schedule:  takt.Schedule{Arrivals: "recorded", Stages: []takt.Stage{{DurationS: l.length, From: l.lowest, To: l.highest}}},
	}
}

// warnings say what such a file does not tell.
func (l *loadLog) warnings() []takt.Warning {
	list := []takt.Warning{{Code: "generator_unknown", Message: l.name + " has nothing about the generator: whether it was the bottleneck nobody can tell, and rows of takt's predecessor count from sending, so what it was late is missing from them"}}
	// Poisson arrivals scatter by the root of their number; 4 times that is no chance.
	if rows := float64(l.ok + l.failed); l.asked-rows > max(0.01*l.asked, 4*math.Sqrt(l.asked)) {
		list = append(list, takt.Warning{Code: "rows_missing", Message: fmt.Sprintf(
			"%s has %.0f rows, but %.0f requests were offered: the rest was not sent, or had no answer at the end", l.name, rows, l.asked)})
	}
	return list
}
