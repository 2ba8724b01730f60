package apmserver

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// account is the fate of a trial's events since its start. The server's own counters include
// its own events and those of other clients.
type account struct {
	sent     float64 // events of answered requests; 0: the load does not report them
	accepted float64 // accepted according to the answers, or to the server if requests had no answer
	known    bool    // accepted is valid
	guessed  bool    // not all requests were answered or counted: the server's count is better
	silent   float64 // requests without an answer: nobody knows the fate of their events

	restarted bool // the server's counters went backwards, so they say nothing of this trial
	v1        bool // the load uses intake v1, whose events the server's intake does not count
	traces    bool // the server sends events about itself, as its settings say

	told     bool // the server reports acked, dropped, filtered and queued
	acked    float64
	dropped  float64
	filtered float64
	taken    float64 // accepted at intake v2, of all clients
	queued   float64 // queued at the end
	before   float64 // queued at the start

	counted bool
	indexed float64 // number of documents
}

// accountOf is the account in a load's report. The report does not count the warm-up, so only
// the server knows how many of the warm-up's events were accepted.
func accountOf(r *takt.Report) (a account) {
	a.sent, _ = number(r.Extra["events"])
	a.accepted, a.known = expected(r, acceptedRequests(r))
	answered := uint64(0)
	for _, n := range r.Status {
		answered += n
	}
	sent := r.Counts.OK + r.Counts.Failed + r.Counts.Unfinished
	a.v1 = r.Variables["intake"] == "v1"
	a.silent = float64(sent - min(sent, answered))
	a.guessed = r.WarmupS > 0 || sent > answered
	a.known = a.known && r.WarmupS == 0
	return a
}

// tell adds the server's counters, unless the server restarted meanwhile.
func (a *account) tell(before, after Counters) {
	b, told := before.flow()
	f, still := after.flow()
	a.restarted = told && still && (f.acked < b.acked || f.dropped < b.dropped || f.filtered < b.filtered || f.accepted < b.accepted || after[uptime] < before[uptime])
	if !told || !still || a.restarted {
		return
	}
	a.told, a.before, a.queued = true, b.queued, f.queued
	a.acked, a.dropped, a.filtered = f.acked-b.acked, f.dropped-b.dropped, f.filtered-b.filtered
	if !a.v1 {
		a.taken = f.accepted - b.accepted
	}
	if a.guessed && a.taken > 0 {
		a.accepted, a.known = a.taken, true
	}
}

// rejected is the number of events in answered requests that the server did not accept:
//
//	sent = accepted + rejected
//
// It is negative if the server accepted more than there was.
func (a account) rejected() float64 {
	if a.sent == 0 || !a.known || a.guessed {
		return 0
	}
	return a.sent - a.accepted
}

// unaccounted is the number of accepted events that are in no counter of the server:
//
//	accepted + queued before = acked + dropped + filtered + queued + unaccounted
//
// Version 6 has up to one request of each connection between its intake and its queue.
func (a account) unaccounted() float64 {
	if !a.told || !a.known {
		return 0
	}
	return max(0, a.accepted+a.before-a.acked-a.dropped-a.filtered-a.queued)
}

// others is the number of further events that the server counted: its own and those of other
// clients.
func (a account) others() float64 {
	if !a.told || !a.known {
		return 0
	}
	return max(0, a.acked+a.dropped+a.filtered+a.queued-a.before-a.accepted)
}

// pending is the number of events that may still arrive.
func (a account) pending() float64 {
	if a.told {
		return a.queued + a.unaccounted()
	}
	return a.missing()
}

// missing is the number of accepted events without a document that were not reported as
// dropped or waiting.
func (a account) missing() float64 {
	if !a.counted || !a.known {
		return 0
	}
	return max(0, a.accepted-a.indexed-a.dropped-a.filtered-a.queued-a.unaccounted())
}

// complete reports whether each accepted event is a document, as far as is known.
func (a account) complete() bool { return a.dropped == 0 && a.pending() == 0 && a.missing() == 0 }

// warn warns of lost or possibly lost events. said is the server's first error.
func (d drained) warn(r *takt.Report, said string) {
	quoted, accepted := "", takt.Number("accepted", d.accepted)
	if said != "" {
		quoted = "; its first error: " + said
	}
	if d.dropped > 0 {
		warnOnce(r, warn.EventsDropped, "apm-server dropped %.0f events, of %.0f accepted%s", takt.Number("dropped", d.dropped), accepted, quoted)
		quoted = "" // quote the error once
	}
	if d.gaveUp {
		warnOnce(r, warn.NotDrained, "after %.0f s %s%s", takt.Seconds("after", d.took.Seconds()), d.undrained(), quoted)
	}
	if n := d.missing(); n > 0 && (d.told || !d.gaveUp) { // without counters, the warning above says it
		warnOnce(r, warn.DocumentsMissing, "%.0f of %.0f accepted events are no documents, although the cluster acknowledged them; %s%s",
			takt.Number("missing", n), accepted, takt.Advice("look for a pipeline that drops them, or for another index"), quoted)
	}
	d.warnOfCounters(r)
	if n := d.indexed - d.accepted; d.counted && d.known && n > 0 {
		warnOnce(r, warn.DocumentsSurplus, "the cluster has %.0f documents more than events were accepted; %s", takt.Number("surplus", n), takt.Advice("another client writes there, or requests without an answer were accepted"))
	}
}

// uptime is libbeat's age of the server, in ms.
const uptime = "beat.info.uptime.ms"

// Of events beyond the accepted ones, apm-server itself makes some: metrics that it aggregates
// from 8 on, and one document at its first start.
const (
	ownEvents = 100
	ownShare  = 0.1
)

// warnOfCounters warns of counters that contradict the answers or one another.
func (a account) warnOfCounters(r *takt.Report) {
	if a.restarted {
		warnOnce(r, warn.ServerRestarted, "apm-server's counters went backwards during the trial: it restarted, and what it had queued is unknown; %s", takt.Advice("look at its log and at its supervisor"))
	}
	if n := -a.rejected(); n > 0 {
		warnOnce(r, warn.AccountContradicts, "apm-server accepted %.0f events more than takt sent: %.0f of %.0f; %s",
			takt.Number("surplus", n), takt.Number("accepted", a.accepted), takt.Number("sent", a.sent), takt.Advice("a proxy that repeats requests, or answers that count wrongly"))
	}
	if !a.told || !a.known {
		return
	}
	if n := a.accepted - a.taken; a.taken > 0 && n > 0 {
		warnOnce(r, warn.EventsNotCounted, "apm-server counted %.0f events less than it accepted in its answers: %.0f of %.0f; %s",
			takt.Number("missing", n), takt.Number("taken", a.taken), takt.Number("accepted", a.accepted), takt.Advice("look for a second server behind the same URL, whose counters takt does not see"))
	}
	if n := a.others(); n > ownEvents+ownShare*a.accepted && !a.traces {
		warnOnce(r, warn.EventsOfOthers, "apm-server counted %.0f events more than the %.0f accepted ones of this load; %s",
			takt.Number("others", n), takt.Number("accepted", a.accepted), takt.Advice("look for another client, or for apm-server's own tracing"))
	}
}

// undrained says what had not arrived when the wait ended.
func (d drained) undrained() string {
	switch {
	case d.pending() == 0:
		return "documents still arrived; the count is too low"
	case d.told:
		return fmt.Sprintf("%.0f events had not left apm-server (%.0f in its queue, %.0f not yet there), of %.0f accepted", d.pending(), d.queued, d.unaccounted(), d.accepted)
	}
	why := "apm-server shows no counters"
	if d.restarted {
		why = "apm-server restarted"
	}
	return fmt.Sprintf("%.0f of %.0f accepted events were no documents; %s, so nobody knows whether it dropped them or still has them", d.pending(), d.accepted, why)
}

// extra is the account in a report, in plain values as in a stored report.
func (a account) extra() map[string]any {
	x := map[string]any{"accepted": a.accepted}
	if a.sent > 0 {
		x["sent"] = a.sent
	}
	if n := a.rejected(); n > 0 {
		x["rejected"] = n
	}
	if a.silent > 0 {
		x["unanswered_requests"] = a.silent
	}
	if a.taken > 0 {
		x["taken"] = a.taken
	}
	if a.told {
		x["queued"], x["acked"], x["dropped"], x["filtered"] = a.queued, a.acked, a.dropped, a.filtered
		x["unaccounted"], x["others"] = a.unaccounted(), a.others()
	}
	if a.counted {
		x["indexed"], x["missing"] = a.indexed, a.missing()
	}
	return x
}

// accountLine is the account of a report as a line; "" if there is none.
func accountLine(x map[string]any) string {
	a, _ := x[extraAccount].(map[string]any)
	if a == nil {
		return ""
	}
	var parts []string
	for _, name := range []string{"sent", "accepted", "rejected", "acked", "dropped", "filtered", "queued", "unaccounted", "indexed", "missing"} {
		n, ok := number(a[name])
		if rare := name == "filtered" || name == "unaccounted" || name == "missing"; !ok || rare && n == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%.0f %s", n, name))
	}
	line := "events: " + strings.Join(parts, ", ")
	if n, _ := number(a["others"]); n > 0 {
		line += fmt.Sprintf(" (%.0f of them not of this load)", n)
	}
	if n, _ := number(a["unanswered_requests"]); n > 0 {
		line += fmt.Sprintf("; the fate of %.0f requests without an answer is unknown", n)
	}
	return line
}
