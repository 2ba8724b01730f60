package jms

import (
	"fmt"
	"math"
	"time"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// backlog is the consumers' remaining work when the schedule ends.
type backlog struct {
	messages uint64        // messages acknowledged, and not received or not committed
	work     time.Duration // time for messages at the consumers' mean rate; 0: unknown
}

// mostWork is the largest acceptable backlog at the end. The last messages waited that long,
// and a longer run would show longer transfer times.
const mostWork = time.Second

// behind notes the backlog after the consumers had the time took.
func (r *run) behind(took time.Duration) {
	if !r.o.receives {
		return
	}
	expected := r.expected.Load()
	arrived := r.arrived()
	done := min(expected, arrived-min(arrived, r.uncommitted()))
	r.backlog.messages = expected - done
	if done > 0 {
		r.backlog.work = time.Duration(float64(took) * float64(r.backlog.messages) / float64(done))
	}
}

// uncommitted is the number of messages received in open transactions.
func (r *run) uncommitted() (n uint64) {
	for _, c := range r.consumers {
		if tx := c.acceptances(); tx != nil {
			n += uint64(tx.open.Load())
		}
	}
	return n
}

func (r *run) describeBacklog(rep *takt.Report) {
	rep.Extra["backlog"] = r.backlog.messages
	if r.backlog.work > mostWork {
		rep.Warn(warn.SlowConsumer, "consumers fell behind: when the schedule ended %d messages waited for them, %.1f s of their work, and transfer times grow with the run; %s",
			takt.Number("messages", r.backlog.messages), takt.Seconds("work", r.backlog.work.Seconds()), takt.Advice("send fewer, or raise --consumers or --credit"))
	}
}

// describeOpen warns of messages that count as received, but are back at the broker.
func (r *run) describeOpen(rep *takt.Report) {
	if !r.o.Tx {
		return
	}
	n := r.uncommitted()
	rep.Extra["uncommitted"] = n
	if n > 0 {
		rep.Warn(warn.Uncommitted, "%d messages were received and not committed when the run ended: the broker has them again, perhaps; %s", takt.Number("messages", n), takt.Advice("--ack batch commits more at once, and --drain waits longer"))
	}
}

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
