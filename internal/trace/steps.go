package trace

import (
	"time"

	"github.com/taktload/takt/pkg/hist"
)

// Step is what one rate did within one second of a load file.
type Step struct {
	Offered    float64   // requests per second: as logged, else as many as were sent
	Seconds    float64   // from the first request at this rate to the first at the next
	At         time.Time // of the first request
	OK, Failed uint64    // see failed
	HDR        string    // latency + xfertime, as hist.Histogram.Encode; of requests that have it
}

// maxRates is how many rates of a second are told apart; if there are more, it was part
// of a ramp without steps, and its mean rate stands for all.
const maxRates = 4

// Steps cuts results in the load format into seconds, and these where the offered rate
// changes. The stream has to be in order, as Timed makes it.
func Steps(src Stream) ([]Step, error) {
	s := stepper{}
	err := each(src, s.record)
	if p := s.last; p != nil {
		p.seconds += p.gap()
		s.flush()
	}
	return s.done, err
}

// stepper has the rates of the second that is being read.
type stepper struct {
	second time.Time
	parts  []*stepPart
	spare  []*stepPart
	last   *stepPart // of the last request
	lastAt time.Time
	done   []Step
	code   hist.Encoder
}

// stepPart is a Step that grows.
type stepPart struct {
	rate    float64 // that tells it apart; -1: one of many
	offered float64 // the sum
	seconds float64
	at      time.Time
	n       uint64
	failed  uint64
	h       *hist.Histogram
}

func (s *stepper) record(r *Record) error {
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
	p := s.part(r)
	p.n++
	p.offered += r.Offered
	if failed(r) {
		p.failed++
	}
	if r.Latency != Unknown {
		p.h.Record(r.Latency)
	}
	s.last, s.lastAt = p, r.At
	return nil
}

// failed reports whether the request of a row failed: no answer, which is 444 or less
// than 1, an answer of a server that has too much to do, or another status than was
// expected. A row that expected nothing else may have a 4xx that was recorded, so it has
// not failed.
func failed(r *Record) bool {
	switch {
	case r.Status < 1 || r.Status == 444 || r.Status == 499 || r.Status >= 500:
		return true
	case r.Status == 408 || r.Status == 429: // whatever was recorded
		return true
	}
	return IsAnswer(r.Expected) && !IsExpected(r.Expected, r.Status)
}

// IsAnswer reports whether a recorded status is one that a replay can get: 408, 444 and
// 499 say that no answer came to the client.
func IsAnswer(status int) bool {
	return status >= 100 && status != 408 && status != 444 && status != 499
}

// IsExpected reports whether got is right where want was recorded. A log has neither the
// condition that made a 304 nor the range that made a 206: without them comes 200.
func IsExpected(want, got int) bool {
	return got == want || got == 200 && (want == 304 || want == 206)
}

// part finds the part of the rate, or begins one.
func (s *stepper) part(r *Record) *stepPart {
	for _, p := range s.parts {
		if p.rate == r.Offered || p.rate < 0 {
			return p
		}
	}
	if len(s.parts) == maxRates {
		s.join()
		return s.parts[0]
	}
	p := &stepPart{h: hist.New()}
	if n := len(s.spare); n > 0 {
		p, s.spare = s.spare[n-1], s.spare[:n-1]
		p.h.Reset()
	}
	*p = stepPart{rate: r.Offered, at: r.At, h: p.h}
	s.parts = append(s.parts, p)
	return p
}

// join makes one part of all.
func (s *stepper) join() {
	whole := s.parts[0]
	whole.rate = -1
	for _, p := range s.parts[1:] {
		whole.n, whole.failed = whole.n+p.n, whole.failed+p.failed
		whole.offered, whole.seconds = whole.offered+p.offered, whole.seconds+p.seconds
		whole.h.Merge(p.h)
	}
	s.spare, s.parts = append(s.spare, s.parts[1:]...), s.parts[:1]
}

// gap is the mean time from one request to the next.
func (p *stepPart) gap() float64 {
	switch {
	case p.offered > 0:
		return float64(p.n) / p.offered
	case p.n > 1:
		return p.seconds / float64(p.n-1)
	}
	return 0
}

func (s *stepper) flush() {
	for _, p := range s.parts {
		step := Step{Offered: p.offered / float64(p.n), Seconds: p.seconds, At: p.at, OK: p.n - p.failed, Failed: p.failed, HDR: s.code.Encode(p.h)}
		switch {
		case p.seconds == 0: // all came at once
			step.Seconds = float64(p.n) * p.gap()
		case p.offered == 0:
			step.Offered = float64(p.n) / p.seconds
		}
		if step.Seconds > 0 { // else it is a lone request, which has no rate
			s.done = append(s.done, step)
		}
	}
	s.spare, s.parts, s.last = append(s.spare, s.parts...), s.parts[:0], nil
}
