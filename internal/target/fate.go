package target

import (
	"fmt"
	"math/rand/v2"

	"github.com/taktload/takt/internal/value"
)

// Outcome is how the server ended a request. Every request takes its service
// time first, whatever its outcome, so that one queue describes them all.
type Outcome uint8

// The outcomes.
const (
	OK       Outcome = iota // answered with --status
	Error                   // answered with status 500
	Reset                   // connection reset (RST); over HTTP/2 the stream (RST_STREAM)
	HalfOpen                // never answered, connection or stream held open
	Closed                  // connection closed without an answer, HTTP/1.1 only
	Rejected                // answered with status 503, see --sse-limit
	Left                    // the client left before the end of its stream
	outcomes
)

// String is the outcome as the JSON of the Truth has it.
func (o Outcome) String() string {
	switch o {
	case Error:
		return "error"
	case Reset:
		return "reset"
	case HalfOpen:
		return "half_open"
	case Closed:
		return "closed"
	case Rejected:
		return "rejected"
	case Left:
		return "left"
	}
	return "ok"
}

// MarshalText implements encoding.TextMarshaler.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Outcome) UnmarshalText(text []byte) error {
	for x := range outcomes {
		if x.String() == string(text) {
			*o = x
			return nil
		}
	}
	return fmt.Errorf("%q is not an outcome; write ok, error, reset, half_open, closed, rejected or left", text)
}

// fates decides which requests fail.
type fates struct {
	errors, resets, halfOpens, closes float64 // shares of the requests
	rand                              *rand.Rand
}

// check complains about shares that do not fit into the whole.
func (f fates) check() error {
	if sum := f.errors + f.resets + f.halfOpens + f.closes; sum > 1 {
		return value.Faultf("with --reset-rate, --half-open-rate and --close-rate %.4g%% of the requests fail; make it at most 100%%", sum*100)
	}
	return nil
}

// draw decides on the next request. It draws one number in any case, so that
// raising one rate only adds failures.
func (f fates) draw() Outcome {
	u := f.rand.Float64()
	switch {
	case u < f.errors:
		return Error
	case u < f.errors+f.resets:
		return Reset
	case u < f.errors+f.resets+f.halfOpens:
		return HalfOpen
	case u < f.errors+f.resets+f.halfOpens+f.closes:
		return Closed
	}
	return OK
}
