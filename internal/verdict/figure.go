package verdict

import (
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// ByLateness reports whether lateness alone makes r invalid. Lateness only adds to latencies, and without
// the warning generator_behind the target had its whole load. So an upper bound that such a run meets is met.
func ByLateness(r *takt.Report) bool { return r.Verdict == takt.Invalid && lateAlone(r.Warnings) }

// ownPart is the part of a latency from which the latency is the generator's own. It equals the part of
// response p99 from which an operation is late.
const ownPart = latePart

// Own reports whether a latency of takt, in µs, is the generator's own: without its lateness the latency
// was lower by more than a tenth, and by more than a host's timers cause.
func Own(us, onTime float64) bool {
	return us-onTime > ownPart*us && us-onTime > float64(warnLagFloor/time.Microsecond)
}
