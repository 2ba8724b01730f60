package report

import (
	"fmt"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/internal/steps"
	figures "github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// account has the rates, the accounting of all operations, and bytes.
func account(r *run) part.Part {
	c, in := r.Counts, part.Outputs(0)
	if c.Scheduled == 0 {
		in = part.Text | part.Markdown
	}
	one := part.Part{ID: "account", Title: "Accounting", Lead: accounting(c) + ".", Last: true, Blocks: []part.Block{{In: in, Facts: []part.Fact{
		{Label: "rate", Says: rates(r.Report), Bare: true},
		{Label: "operations", Says: accounting(c), In: part.Text | part.Markdown, Bare: true},
		{Label: "users", Says: crowd(r.Report), In: part.Text | part.HTML},
		{Label: "broker", Says: ledger(r.Ledger)},
		{Label: "messages", Says: messages(r.Report)},
		{Label: "bytes", Says: volumes(r.Report), In: part.Text | part.HTML},
		{Label: "stalls", Says: outage.StallSentence(r.Report), In: part.Text | part.Markdown, Bare: true},
		{Says: markdownSubject(r.Report), In: part.Markdown, Bare: true, Marked: true},
		{Says: labels(r.Report, page.CodeSpan), In: part.Markdown, Bare: true, Marked: true},
	}}}}
	if c.Scheduled > 0 {
		share := func(n uint64, name, class string) part.Share {
			return part.Share{Name: page.Count(n) + " " + name, Class: class, Part: float64(n) / float64(c.Scheduled)}
		}
		one.Blocks = append([]part.Block{{In: part.HTML, Bar: []part.Share{
			share(c.OK, "ok", "share-1"), share(c.Failed, "failed", "share-bad"), share(c.Dropped, "dropped", "share-3"), share(c.Unfinished, "unfinished", "share-4"),
		}}}, one.Blocks...)
	}
	return one
}

// markdownSubject is what was run, beside the title of the summary.
func markdownSubject(r *takt.Report) string {
	s := Measured(r) + ", started " + Started(r)
	if shard := PartOf(r); shard != "" {
		s += ", shard " + page.Escape(shard)
	}
	if r.ID != "" {
		s += ", id " + page.CodeSpan(r.ID)
	}
	return s
}

// crowd is how many users a log had; "" without users. A scenario has its steps instead.
func crowd(r *takt.Report) string {
	u, ok := r.Extra["users"].(map[string]any)
	if _, replayed := u["without_user"]; !ok || !replayed {
		return ""
	}
	s := page.Count(uint64(plainNumber(u["count"]))) + ", up to " + page.Count(uint64(plainNumber(u["connections_max"]))) + " connected at once"
	if n := plainNumber(u["without_user"]); n > 0 {
		s += ", " + page.Count(uint64(n)) + " requests without a user counted as one each"
	}
	return s
}

// ledger is what the broker says of the messages; "" if it was not asked.
func ledger(l takt.Ledger) string {
	if l == (takt.Ledger{}) {
		return ""
	}
	s := fmt.Sprintf("%d acknowledged, ", l.Acknowledged)
	if l.Uncertain > 0 {
		s += fmt.Sprintf("%d uncertain, ", l.Uncertain)
	}
	if l.Stored != nil {
		s += fmt.Sprintf("%d stored", *l.Stored)
	} else {
		s += "stored unknown"
	}
	if l.Delivered != nil {
		s += fmt.Sprintf(", %d delivered", *l.Delivered)
	}
	for _, v := range []struct {
		n    uint64
		name string
	}{{l.Missing, "missing"}, {l.Surplus, "surplus"}, {l.Expired, "expired"}, {l.Dead, "dead"}, {l.Removed, "removed"}} {
		if v.n > 0 {
			s += fmt.Sprintf(", %d %s", v.n, v.name)
		}
	}
	return s + " (" + page.Clean(l.Source) + ")"
}

func accounting(c takt.Counts) string {
	return fmt.Sprintf("%d scheduled = %d ok + %d failed + %d dropped + %d unfinished", c.Scheduled, c.OK, c.Failed, c.Dropped, c.Unfinished)
}

func rates(r *takt.Report) string {
	achieved := page.Rate(r.Rate.Achieved) + " achieved"
	if rounds := roundsOf(r); rounds != "" {
		return rounds + "; requests: " + achieved + inTime(r)
	}
	switch {
	case r.Rate.Intended != nil:
		asked := page.Rate(Intended(r)) + " intended"
		if r.Schedule.Arrivals != "" {
			asked += " (" + page.Clean(r.Schedule.Profile+", "+r.Schedule.Arrivals) + ")"
		}
		if due := page.Rate(*r.Rate.Intended); due != page.Rate(Intended(r)) {
			asked += ", " + due + " due"
		}
		return asked + ", " + achieved + " (" + page.Percent(r.Rate.Achieved, *r.Rate.Intended) + ")" + inTime(r)
	case sends(r):
		return "closed loop, " + achieved
	case r.Counts.OK > 0:
		return page.Rate(r.Rate.Achieved) + " received"
	default:
		return achieved
	}
}

// roundsOf is how many rounds of a scenario there were, where they and not their steps have a rate; "": there are none.
func roundsOf(r *takt.Report) string {
	rounds, ok := r.Extra[steps.Rounds].(map[string]any)
	if !ok {
		return ""
	}
	s := page.Count(uint64(plainNumber(rounds["begun"]))) + " rounds"
	if rate, is := rounds["intended_per_s"]; is {
		intended := asked(r, plainNumber(rate))
		if whole, is := rounds[steps.Asked]; is && !takt.IsShard(r.Schedule.Shard) {
			intended = plainNumber(whole)
		}
		s += " at " + page.Rate(intended) + " intended"
	}
	for _, what := range []string{"completed", "failed", "dropped"} {
		if n, is := rounds[what]; is {
			s += ", " + page.Count(uint64(plainNumber(n))) + " " + what
		}
	}
	if n := plainNumber(rounds["begun"]) - plainNumber(rounds["completed"]) - plainNumber(rounds["failed"]); n > 0 { // a user of -c does not end its round
		s += ", " + page.Count(uint64(n)) + " unfinished"
	}
	return s
}

// Intended is the rate that was asked for, in operations per second. Random arrivals, whole rounds of
// a scenario and a run that was cut short have another number of due operations. Without a
// constant rate it is the rate of these.
func Intended(r *takt.Report) float64 { return asked(r, *r.Rate.Intended) }

// asked is the constant rate of the whole schedule, or due, the rate of what became due, of a schedule without one.
func asked(r *takt.Report, due float64) float64 {
	whole := r.Schedule.RatePerS
	if whole == 0 || takt.IsShard(r.Schedule.Shard) {
		return due
	}
	return whole
}

// inTime adds the rate at which operations completed while the schedule lasted, if many completed
// only after it: the target is overloaded, or its response time is not small beside the run.
func inTime(r *takt.Report) string {
	const most, few = 0.95, 10 // share of achieved, operations
	completed, ok := stored.Completed(r)
	if late := (r.Rate.Achieved - completed) * r.DurationS; !ok || completed > most*r.Rate.Achieved || late < few {
		return ""
	}
	return "; " + page.Rate(completed) + " completed while the schedule lasted, the rest in the drain"
}

// sends distinguishes a closed loop from a run that only received. Both have no intended
// rate, but only the latter has no response or send time, not even an empty one.
func sends(r *takt.Report) bool {
	_, answered := r.Latency[takt.LatencyResponse]
	_, oneWay := r.Latency[takt.LatencySend]
	return answered || oneWay
}

// messages are those of gRPC calls of methods with streams.
func messages(r *takt.Report) string {
	m, ok := figures.MessagesOf(r)
	if !ok {
		return ""
	}
	return page.Count(m.Sent) + " sent, " + page.Count(m.Received) + " received by calls that are ok"
}

// volumes is the bytes on the wire in each direction, if there were any.
func volumes(r *takt.Report) string {
	var list []string
	for _, v := range []struct {
		word string
		n    int64
	}{{"sent", r.Bytes.Sent}, {"received", r.Bytes.Received}} {
		if v.n == 0 {
			continue
		}
		s := page.Size(float64(v.n)) + " " + v.word
		if r.DurationS > 0 {
			s += " (" + page.Size(float64(v.n)/r.DurationS) + "/s)"
		}
		list = append(list, s)
	}
	return unbroken(list)
}
