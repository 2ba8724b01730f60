package jms

import (
	"fmt"
	"math"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// reachedShare is the part of the intended rate that counts as achieved.
const reachedShare = 0.99

// describeBound names the setting that delayed messages when the rate was not achieved.
func (r *run) describeBound(rep *takt.Report) {
	bound, ack := r.o.inFlight(), rep.Latency[takt.LatencyService].Mean/1e6
	if rep.Rate.Intended == nil || ack == 0 || r.why() != nil || len(rep.Outages) > 0 || !r.waitedForRoom(rep) {
		return
	}
	intended, allowed := *rep.Rate.Intended, float64(bound)/ack
	if allowed >= intended {
		return // a freeze or the generator delayed them
	}
	sent := 100 * rep.Rate.Achieved / intended
	rep.Warn(warn.PendingBound, "%.3g %% of the rate was sent: %s, and an acknowledgement took %.3g ms on average, which allows about %.0f/s; %.0f/s needs at least %.0f pending messages: %s",
		takt.Percent("missed", 100-sent).As(sent), r.o.boundWords(), takt.Micros("acknowledgement_mean", 1e6*ack).As(1e3*ack), takt.PerSecond("allowed", allowed),
		takt.PerSecond("intended", intended), takt.Number("pending", math.Ceil(intended*ack)), takt.Advice("raise --max-pending or --producers, or lower the rate"))
}

// waitedForRoom reports whether the rate was missed because messages waited until fewer were
// pending. Messages without credit waited for the broker instead.
func (r *run) waitedForRoom(rep *takt.Report) bool {
	missed := rep.Rate.Achieved < reachedShare**rep.Rate.Intended
	lag := rep.Latency[takt.LatencyScheduleLag].Mean
	wait := rep.Latency[takt.LatencySendDelay].Mean - lag
	return missed && wait > lag && r.credit.total.Seconds() < rep.DurationS/2
}

// boundWords says how many messages may be pending, and which flags set it.
func (o *Options) boundWords() string {
	all, producers := o.inFlight(), o.Producers*len(o.destinations)
	messages := "messages"
	if all == 1 {
		messages = "message"
	}
	if all < producers*o.window.pending {
		return fmt.Sprintf("at most %d %s may be pending (--max-in-flight)", all, messages)
	}
	return fmt.Sprintf("at most %d %s may be pending (--max-pending %d, producers in all: %d)", all, messages, o.window.pending, producers)
}

// inFlight is the largest number of pending messages in all.
func (o *Options) inFlight() int {
	return min(o.window.inFlight, o.Producers*len(o.destinations)*o.window.pending)
}
