// Package live shows a run while it goes on: the line a second, and the full view of a terminal.
// Its pictures are functions of the state and the size; it reads no clock and writes nothing.
package live

import (
	"time"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// Head is what is known of a run before it begins.
type Head struct {
	Run        string        `json:"run,omitempty"`      // id of the report to come; "": unknown
	Command    string        `json:"command"`            // command line, without secrets
	End        time.Duration `json:"end"`                // length of the schedule, with the warm-up; negative: unknown
	Warmup     time.Duration `json:"warmup,omitempty"`   // part of End
	Drain      time.Duration `json:"drain,omitempty"`    // most time for open operations after End
	Requests   uint64        `json:"requests,omitempty"` // number of measured operations; 0: not limited
	Room       int           `json:"room,omitempty"`     // most operations in flight
	Closed     bool          `json:"closed,omitempty"`   // a closed loop, which has no intended rate
	OneWay     bool          `json:"one_way,omitempty"`  // no answers, so no response and service time
	Receives   bool          `json:"receives,omitempty"` // nothing is sent
	Waits      bool          `json:"waits,omitempty"`    // operations wait for the answers to others, as those of users
	Assertions []string      `json:"assertions,omitempty"`
	Timed      []string      `json:"timed,omitempty"` // latencies of parts of answers that the view shows, by name
}

// scheduled reports whether operations are due at instants.
func (h *Head) scheduled() bool { return !h.Closed && !h.Receives }

// answered reports whether operations have a response time.
func (h *Head) answered() bool { return !h.OneWay && !h.Receives }

// shown are those of Timed for which there is room.
func (h *Head) shown() []string { return h.Timed[:min(len(h.Timed), maxTimed)] }

// Snapshot is what the engine publishes once a second.
type Snapshot struct {
	Interval takt.Interval     `json:"interval"`
	Errors   []takt.ErrorClass `json:"errors,omitempty"`   // of the whole run so far, most frequent first
	Overload *takt.Overload    `json:"overload,omitempty"` // of the target now; nil: there is none, or nobody can say so
	Outage   *takt.Outage      `json:"outage,omitempty"`   // the newest; nil: there was none
	Faults   []takt.Fault      `json:"faults,omitempty"`   // that began; To is nil while they run
	Lent     timeline.Lent     `json:"-"`                  // histograms of Interval, which all watchers share; nil: each decodes them
}

// Overloads returns what finds an overload of the run's target; nil: the backlog of such a run is not that of
// its target.
func (h *Head) Overloads() *overload.Watch {
	if !h.scheduled() || !h.answered() || h.Waits {
		return nil
	}
	return &overload.Watch{End: h.End.Seconds(), Room: h.Room}
}

// Moment is the state of a run between two snapshots.
type Moment struct {
	Elapsed  time.Duration // since the start; negative: time until the start
	Stopping bool          // a signal ended the schedule early
	Paused   bool          // the picture is of an earlier instant
	Help     bool          // show the keys instead of the curves
	Keys     bool          // somebody can press keys
	Hint     string        // what ends the view, if there are no keys
	Note     string        // newest message of the run
}

// assertions reads the texts of h, which were checked before the run.
func (h *Head) assertions() (list []assert.Assertion) {
	for _, text := range h.Assertions {
		if a, err := assert.ParseAssertion(text); err == nil {
			list = append(list, a)
		}
	}
	return list
}
