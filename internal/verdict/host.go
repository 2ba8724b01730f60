package verdict

import (
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/pkg/takt"
)

const (
	busyMost      = 0.9  // largest part of all cores, or of a loop's time, that the generator may use
	busySome      = 0.33 // largest part of all cores while less than idleLeast are idle
	idleLeast     = 0.05
	throttledMost = 0.1 // largest part of the time for which a quota may throttle the generator
	starvedMost   = 0.5 // largest wait for a core, of all threads together, as a part of the run's time
)

// More than this is a warning.
const (
	stolenSome = 0.02 // part of all cores that the hypervisor took
	quotaSome  = 0.01 // part of all cores' time for which a quota throttled the generator
	pauseSome  = time.Millisecond
)

// Host is what the generator used of its host. CPU, Idle, Stolen and Quota (time throttled)
// are parts of all cores: 0.5 is half of the machine.
type Host struct {
	CPU, Idle, Stolen, Quota     float64
	Ran, Waited, Throttled, Wall time.Duration // running and waiting for a core, all threads together; throttled, its cgroup; length of the run
	GCPauseMax                   time.Duration
	GCCycles                     uint32
	Resent                       uint64  // TCP segments
	Own                          bool    // they are those of the run's own connections, not of all processes
	Loops                        int     // number of loops; 0: another mode
	Worked                       float64 // part of the time for which the busiest loop worked
	Closed                       bool    // a closed loop
	Told                         bool    // answers have stamps, so the operations show whether the generator was slow
}

// Judge makes r, whose counts and rates are complete, invalid if the generator limited the
// rate, and warns of what the host did to the latencies.
func (h Host) Judge(r *takt.Report) {
	h.explain(r)
	h.loops(r)
	h.cores(r)
	h.disturbed(r)
}

// cause is what kept the generator from its CPU for the longest time, with the remedy; "": nothing did for
// more than a tenth of the run.
func (h Host) cause() string {
	stolen := time.Duration(h.Stolen * float64(h.Wall))
	most := max(h.Throttled, h.Waited, stolen)
	switch {
	case most.Seconds() <= throttledMost*h.Wall.Seconds():
		return ""
	case most == h.Throttled:
		return h.throttled() + "; raise the quota"
	case most == h.Waited:
		return h.waited() + "; free the CPU"
	}
	return fmt.Sprintf("the hypervisor took %.1f %% of the CPU time away; run takt on another machine", 100*h.Stolen)
}

func (h Host) throttled() string {
	return "the CPU quota of its cgroup held it back for " + figure.Duration(h.Throttled)
}

func (h Host) waited() string {
	return fmt.Sprintf("its threads waited for a core for %s in all, and ran for %s", figure.Duration(h.Waited), figure.Duration(h.Ran))
}

// explain puts the cause in the place of the remedy, in each reason why r is invalid.
func (h Host) explain(r *takt.Report) {
	cause := h.cause()
	for i, w := range r.Warnings {
		if before, general := strings.CutSuffix(w.Message, "; "+remedy); cause != "" && general {
			r.Warnings[i].Message = before + ": " + cause
		}
	}
}

// loopsJudged is the shortest run whose loops are judged: a loop that starts does not rest.
const loopsJudged = 200 * time.Millisecond

func (h Host) loops(r *takt.Report) {
	if h.Worked > busyMost && r.Counts.Scheduled > 0 && (h.Wall == 0 || h.Wall >= loopsJudged) {
		warner(r, !h.Closed)("generator_saturated", "a loop worked %.0f %% of the time: the rate may be its limit, not the target's; use more of them (--loops, %d now) on cores of their own, or spread the run with --shard", 100*h.Worked, h.Loops)
	}
}

// cores judges the use of the CPU, and only warns in a closed loop. With a full pool a
// generator without CPU looks like a slow target: it reads every answer late, and operations
// wait for a connection. So a rate that was not achieved is the generator's fault if it used
// nearly all cores, or a third of all cores while the machine had no idle ones. Without stamps
// on answers it is also the generator's fault if it did not get the cores that it wanted.
func (h Host) cores(r *takt.Report) {
	switch {
	case h.Closed:
		if h.CPU > busyMost {
			r.Warn("generator_saturated", "the generator used %.0f %% of all cores: the rate may be its limit, not the target's", 100*h.CPU)
		}
	case r.Rate.Intended == nil:
	case r.Counts.Sent > 0 && r.Counts.OK == 0 && len(r.Status) == 0: // no answer came that could be read late
	case r.Rate.Achieved >= shortRate**r.Rate.Intended:
	case h.CPU > busyMost, h.CPU > busySome && h.Idle < idleLeast:
		Invalidate(r, "generator_saturated", "the generator was the bottleneck: it used %.0f %% of all cores, %.0f %% were idle, and %.1f %% of the rate were achieved; lower the rate, give the target cores of its own, or spread the run with --shard",
			100*h.CPU, 100*h.Idle, achieved(r))
	case h.Told:
	case h.Throttled.Seconds() > throttledMost*h.Wall.Seconds():
		Invalidate(r, "generator_saturated", "the generator was the bottleneck: %s, and %.1f %% of the rate were achieved; raise the quota or lower the rate",
			h.throttled(), achieved(r))
	case h.Waited > h.Ran && h.Waited.Seconds() > starvedMost*h.Wall.Seconds():
		Invalidate(r, "generator_saturated", "the generator was the bottleneck: %s, and %.1f %% of the rate were achieved; free the CPU, or lower the rate",
			h.waited(), achieved(r))
	}
}

// disturbed warns of pauses that latencies include.
func (h Host) disturbed(r *takt.Report) {
	if h.Stolen > stolenSome {
		r.Warn("steal", "the hypervisor took %.1f %% of the CPU time away: latencies include its pauses", 100*h.Stolen)
	}
	if h.Quota > quotaSome {
		r.Warn("throttled", "the cgroup's CPU quota held processes back for %s: raise the quota or lower the rate", figure.Duration(h.Throttled))
	}
	if sent := r.Counts.Sent; retransmitted(h.Resent, sent) {
		whose := ". All processes of this network namespace count"
		if h.Own {
			whose = ""
		}
		r.Warn("retransmits", "TCP sent %d segments again while %d operations were sent: the network lost packets, or the target accepted none, and latencies include the timeouts of TCP%s", h.Resent, sent, whose)
	}
	if h.GCPauseMax > pauseSome {
		r.Warn("gc", "garbage collection stopped the generator for up to %s, in %d cycles", figure.Duration(h.GCPauseMax), h.GCCycles)
	}
}
