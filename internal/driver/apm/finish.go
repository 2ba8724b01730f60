package apm

import (
	"context"
	"math"
	"strconv"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// eventLimit is the largest event that apm-server accepts by default, in bytes.
const eventLimit = 307_200

// finish adds the driver's part of the report. The figures are hey-apm's, with
// its formulas, for the measured requests with an answer:
//
//	pushed   = uncompressed bodies ÷ duration            bytes per second
//	accepted = uncompressed bodies with an answer 202 ÷ duration
//	latency  = 1000 ÷ (requests with an answer 202 ÷ duration)   ms; not a response time
//
// pushed_wire and accepted_wire use the sizes of the bodies as sent.
func (p *plan) finish(_ context.Context, r *takt.Report) error {
	s := p.sum()
	perS := func(n uint64) float64 { return over(float64(n), r.DurationS) }
	x := r.Extra
	x["pushed"], x["accepted"] = perS(s.pushed.plain.Load()), perS(s.taken.plain.Load())
	x["pushed_wire"], x["accepted_wire"] = perS(s.pushed.wire.Load()), perS(s.taken.wire.Load())
	x["accepted_requests"] = float64(s.status[202].Load())
	if n := s.status[202].Load(); n > 0 {
		x["latency"] = rounded(1000 * r.DurationS / float64(n))
	}
	x["events"], x["events_accepted"] = s.events.Load(), s.accepted.Load()
	x["bodies"] = p.bodies
	if n := s.flushes.Load(); n > 0 {
		x["flushes"] = n
	}
	var all []any
	for _, server := range p.servers {
		for i, t := range server.targets {
			all = append(all, t.describe(i, r.DurationS))
		}
	}
	x["targets"] = all
	if len(p.servers) > 1 {
		x["servers"] = p.perServer(r.DurationS)
	}
	p.warn(r, s)
	return nil
}

// sum is the sum over all targets. Healthchecks have no events and no 202.
func (p *plan) sum() *tally {
	s := &tally{}
	for _, server := range p.servers {
		for _, t := range server.targets {
			s.add(&t.tally)
		}
	}
	return s
}

func (s *tally) add(t *tally) {
	for status := range t.status {
		s.status[status].Add(t.status[status].Load())
	}
	s.sent.Add(t.sent.Load())
	s.pushed.plain.Add(t.pushed.plain.Load())
	s.pushed.wire.Add(t.pushed.wire.Load())
	s.taken.plain.Add(t.taken.plain.Load())
	s.taken.wire.Add(t.taken.wire.Load())
	s.events.Add(t.events.Load())
	s.accepted.Add(t.accepted.Load())
	s.refused.Add(t.refused.Load())
	s.flushes.Add(t.flushes.Load())
}

// responses is the number of answers.
func (s *tally) responses() (n uint64) {
	for status := range s.status {
		n += s.status[status].Load()
	}
	return n
}

// describe is the results of one target, in plain values, as in a stored report.
func (t *target) describe(index int, durationS float64) map[string]any {
	status := map[string]any{}
	for code := range t.tally.status {
		if n := t.tally.status[code].Load(); n > 0 {
			status[strconv.Itoa(code)] = float64(n)
		}
	}
	n := t.tally.responses()
	m := map[string]any{
		"url": t.url.Redacted(), "index": float64(index), "method": t.method, "sent": float64(t.tally.sent.Load()),
		"responses": float64(n), "responses_per_s": over(float64(n), durationS), "status": status,
		"events": float64(t.tally.events.Load()), "events_accepted": float64(t.tally.accepted.Load()),
	}
	if t.part.name != "" {
		m["name"] = t.part.name
	}
	return m
}

// perServer is the figures of each server, if there are several.
func (p *plan) perServer(durationS float64) (all []any) {
	for _, s := range p.servers {
		sum := &tally{}
		for _, t := range s.targets {
			sum.add(&t.tally)
		}
		m := map[string]any{
			"url": s.url.Redacted(), "responses": float64(sum.responses()), "responses_per_s": over(float64(sum.responses()), durationS),
			"accepted_requests": float64(sum.status[202].Load()), "events_accepted": float64(sum.accepted.Load()),
			"pushed": over(float64(sum.pushed.plain.Load()), durationS), "accepted": over(float64(sum.taken.plain.Load()), durationS),
		}
		s.service.describe(m)
		all = append(all, m)
	}
	return all
}

// describe adds service times, including those of failed operations.
func (s *serviceTime) describe(m map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.h == nil {
		return
	}
	m["failed"] = float64(s.failed)
	for name, q := range map[string]float64{"service_p50_us": 0.5, "service_p99_us": 0.99, "service_max_us": 1} {
		m[name] = hist.Micros(s.h.Quantile(q))
	}
}

func (p *plan) warn(r *takt.Report, s *tally) {
	if p.largest > eventLimit {
		r.Warn(warn.EventSize, "the largest event has %d bytes, and apm-server takes %d unless max_event_size says otherwise; %s", takt.Size("largest", p.largest), takt.Size("limit", eventLimit), takt.Advice("give fewer --frames"))
	}
	if sent, taken := s.events.Load(), s.accepted.Load(); taken < sent && s.refused.Load() == 0 && r.Counts.Failed == 0 {
		r.Warn(warn.EventsMissing, "the server counted %d events of the %d in requests that it answered with 202", takt.Number("missing", sent-taken).As(taken), takt.Number("sent", sent))
	}
}

// over is a ÷ b, rounded; 0 without a duration.
func over(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return rounded(a / b)
}

// rounded rounds to thousandths: no figure here is more exact.
func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }
