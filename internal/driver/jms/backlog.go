package jms

import (
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
