package verdict

import (
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/warn"
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

// cause is what kept the generator from its CPU for the longest time, with the remedy, as a format and its
// arguments; "": nothing did for more than a tenth of the run.
func (h Host) cause() (format string, args []any) {
	stolen := time.Duration(h.Stolen * float64(h.Wall))
	most := max(h.Throttled, h.Waited, stolen)
	switch {
	case most.Seconds() <= throttledMost*h.Wall.Seconds():
		return "", nil
	case most == h.Throttled:
		return throttledFormat + "; %s", append(h.throttled(), takt.Advice("raise the quota"))
	case most == h.Waited:
		return waitedFormat + "; %s", append(h.waited(), takt.Advice("free the CPU"))
	}
	return "the hypervisor took %.1f %% of the CPU time away; %s", []any{takt.Percent("stolen", 100*h.Stolen), takt.Advice("run takt on another machine")}
}

const throttledFormat = "the CPU quota of its cgroup held it back for %s"

func (h Host) throttled() []any { return []any{figure.Time("throttled", h.Throttled)} }

const waitedFormat = "its threads waited for a core for %s in all, and ran for %s"

func (h Host) waited() []any {
	return []any{figure.Time("waited", h.Waited), figure.Time("ran", h.Ran)}
}

// explain puts the cause in the place of the remedy, in each reason why r is invalid.
func (h Host) explain(r *takt.Report) {
	format, args := h.cause()
	if format == "" {
		return
	}
	general := r.Words.Warning("", "%s", remedy).Advice
	for i := range r.Warnings {
		if w := &r.Warnings[i]; w.Advice == general {
			cause := r.Words.Warning(w.Code, format, args...)
			w.Message = strings.TrimSuffix(w.Message, "; "+w.Advice) + ": " + cause.Message
			w.Fields, w.Advice = append(w.Fields, cause.Fields...), cause.Advice
		}
	}
}

// loopsJudged is the shortest run whose loops are judged: a loop that starts does not rest.
const loopsJudged = 200 * time.Millisecond

func (h Host) loops(r *takt.Report) {
	if h.Worked > busyMost && r.Counts.Scheduled > 0 && (h.Wall == 0 || h.Wall >= loopsJudged) {
		warner(r, !h.Closed)(warn.GeneratorSaturated, "a loop worked %.0f %% of the time: the rate may be its limit, not the target's; %s",
			takt.Percent("worked", 100*h.Worked), takt.Advice(fmt.Sprintf("use more of them (--loops, %d now) on cores of their own, or ", h.Loops))+takt.SpreadLoad)
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
			r.Warn(warn.GeneratorSaturated, "the generator used %.0f %% of all cores: the rate may be its limit, not the target's", takt.Percent("cpu", 100*h.CPU))
		}
	case r.Rate.Intended == nil:
	case r.Counts.Sent > 0 && r.Counts.OK == 0 && len(r.Status) == 0: // no answer came that could be read late
	case r.Rate.Achieved >= shortRate**r.Rate.Intended:
	case h.CPU > busyMost, h.CPU > busySome && h.Idle < idleLeast:
		Invalidate(r, warn.GeneratorSaturated, "the generator was the bottleneck: it used %.0f %% of all cores, %.0f %% were idle, and %.1f %% of the rate were achieved; %s",
			takt.Percent("cpu", 100*h.CPU), takt.Percent("idle", 100*h.Idle), achieved(r), "lower the rate, give the target cores of its own, or "+takt.SpreadLoad)
	case h.Told:
	case h.Throttled.Seconds() > throttledMost*h.Wall.Seconds():
		h.starved(r, throttledFormat, h.throttled(), "raise the quota or lower the rate")
	case h.Waited > h.Ran && h.Waited.Seconds() > starvedMost*h.Wall.Seconds():
		h.starved(r, waitedFormat, h.waited(), "free the CPU, or lower the rate")
	}
}

// starved makes r invalid because the generator did not get its CPU.
func (h Host) starved(r *takt.Report, format string, args []any, remedy takt.Advice) {
	Invalidate(r, warn.GeneratorSaturated, "the generator was the bottleneck: "+format+", and %.1f %% of the rate were achieved; %s", append(args, achieved(r), remedy)...)
}

// disturbed warns of pauses that latencies include.
func (h Host) disturbed(r *takt.Report) {
	if h.Stolen > stolenSome {
		r.Warn(warn.Steal, "the hypervisor took %.1f %% of the CPU time away: latencies include its pauses", takt.Percent("stolen", 100*h.Stolen))
	}
	if h.Quota > quotaSome {
		r.Warn(warn.Throttled, "the cgroup's CPU quota held processes back for %s: %s", figure.Time("throttled", h.Throttled), takt.Advice("raise the quota or lower the rate"))
	}
	if sent := r.Counts.Sent; retransmitted(h.Resent, sent) {
		whose := ". All processes of this network namespace count"
		if h.Own {
			whose = ""
		}
		r.Warn(warn.Retransmits, "TCP sent %d segments again while %d operations were sent: the network lost packets, or the target accepted none, and latencies include the timeouts of TCP%s",
			takt.Number("segments", h.Resent), takt.Number("sent", sent), whose)
	}
	if h.GCPauseMax > pauseSome {
		r.Warn(warn.GC, "garbage collection stopped the generator for up to %s, in %d cycles", figure.Time("pause_max", h.GCPauseMax), takt.Number("cycles", h.GCCycles))
	}
}
