package figures

import (
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/hist"
)

// Step has the results of one rate within one second of a load file.
type Step struct {
	Offered    float64   // requests per second: the logged rate, or else the sent one
	Seconds    float64   // time from each request at this rate to the request after it, added up
	At         time.Time // instant of the first request
	OK, Failed uint64    // number of requests; see failed
	HDR        string    // known latency + xfertime, as hist.Histogram.Encode
}

// maxRates limits the separate rates of a second. A second with more rates is of a ramp
// without steps, and becomes one step with the mean rate.
const maxRates = 4

// Steps cuts results in the load format into seconds, and each second by its offered rates.
// The stream must be in order, as after trace.Timed.
func Steps(src trace.Stream) ([]Step, error) {
	s := stepper{}
	err := trace.Each(src, s.record)
	if p := s.last; p != nil {
		p.seconds += p.gap()
		s.flush()
	}
	return s.done, err
}

// stepper collects the rates of the present second.
type stepper struct {
	second time.Time
	rates  []*rateSum
	spare  []*rateSum
	last   *rateSum // of the last request
	lastAt time.Time
	done   []Step
	code   hist.Encoder
}

// rateSum is a Step that grows: the requests at one rate.
type rateSum struct {
	rate    float64 // the offered rate of its requests; -1: all rates of the second
	offered float64 // the sum of the offered rates
	seconds float64
	at      time.Time
	n       uint64
	failed  uint64
	h       *hist.Histogram
}

func (s *stepper) record(r *trace.Record) error {
	if r.At.IsZero() {
		return errNoSeconds
	}
	if s.last != nil {
		s.last.seconds += max(0, r.At.Sub(s.lastAt).Seconds())
	}
	if second := r.At.Truncate(time.Second); second.After(s.second) {
		s.flush()
		s.second = second
	}
	p := s.sumOf(r)
	p.n++
	p.offered += r.Offered
	if failed(r) {
		p.failed++
	}
	if r.Latency != trace.Unknown {
		p.h.Record(r.Latency)
	}
	s.last, s.lastAt = p, r.At
	return nil
}

// failed reports whether the request of a row failed: without an answer (444 or below 1),
// with the answer of an overloaded server, or with another status than expected. A 4xx that
// is the expected status has not failed.
func failed(r *trace.Record) bool {
	switch {
	case r.Status < 1 || r.Status == 444 || r.Status == 499 || r.Status >= 500:
		return true
	case r.Status == 408 || r.Status == 429: // even if it was expected
		return true
	}
	return trace.IsAnswer(r.Expected) && !trace.IsExpected(r.Expected, r.Status)
}

// sumOf finds the sum of the record's rate, or begins one.
func (s *stepper) sumOf(r *trace.Record) *rateSum {
	for _, p := range s.rates {
		if p.rate == r.Offered || p.rate < 0 {
			return p
		}
	}
	if len(s.rates) == maxRates {
		s.join()
		return s.rates[0]
	}
	p := &rateSum{h: hist.New()}
	if n := len(s.spare); n > 0 {
		p, s.spare = s.spare[n-1], s.spare[:n-1]
		p.h.Reset()
	}
	*p = rateSum{rate: r.Offered, at: r.At, h: p.h}
	s.rates = append(s.rates, p)
	return p
}

// join merges all sums into the first.
func (s *stepper) join() {
	whole := s.rates[0]
	whole.rate = -1
	for _, p := range s.rates[1:] {
		whole.n, whole.failed = whole.n+p.n, whole.failed+p.failed
		whole.offered, whole.seconds = whole.offered+p.offered, whole.seconds+p.seconds
		whole.h.Merge(p.h)
	}
	s.spare, s.rates = append(s.spare, s.rates[1:]...), s.rates[:1]
}

// gap is the mean time from one request to the next.
func (p *rateSum) gap() float64 {
	switch {
	case p.offered > 0:
		return float64(p.n) / p.offered
	case p.n > 1:
		return p.seconds / float64(p.n-1)
	}
	return 0
}

func (s *stepper) flush() {
	for _, p := range s.rates {
		step := Step{Offered: p.offered / float64(p.n), Seconds: p.seconds, At: p.at, OK: p.n - p.failed, Failed: p.failed, HDR: s.code.Encode(p.h)}
		switch {
		case p.seconds == 0: // all at the same instant
			step.Seconds = float64(p.n) * p.gap()
		case p.offered == 0:
			step.Offered = float64(p.n) / p.seconds
		}
		if step.Seconds > 0 { // otherwise its requests have no rate
			s.done = append(s.done, step)
		}
	}
	s.spare, s.rates, s.last = append(s.spare, s.rates...), s.rates[:0], nil
}
