package html_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// part is an interval: what was due in it, how many operations were answered at once and how many after a
// wait of up to waited, and how many timed out after 500 ms.
type part struct {
	t                         float64
	due, fast, slow, timeouts int
	waited                    time.Duration
	inFlight                  int
}

// parted is a run at 200 operations a second with the given intervals.
func parted(parts ...part) *takt.Report {
	r := run(1, 200)
	r.Intervals, r.Counts = nil, takt.Counts{}
	all, ok := hist.New(), hist.New()
	for _, p := range parts {
		h := hist.New()
		h.RecordN(time.Millisecond, uint64(p.fast))
		for k := range p.slow {
			h.Record(p.waited * time.Duration(k+1) / time.Duration(p.slow))
		}
		ok.Merge(h)
		h.RecordN(500*time.Millisecond, uint64(p.timeouts))
		all.Merge(h)
		l := h.Figures()
		iv := takt.Interval{T: p.t, Scheduled: uint64(p.due), OK: uint64(p.fast + p.slow), Failed: uint64(p.timeouts), InFlightMax: p.inFlight, HDR: h.Encode(), ResponseP50: l.P50, ResponseP99: l.P99, ResponseMax: l.Max}
		if p.timeouts > 0 {
			iv.Errors = map[string]uint64{"timeout": iv.Failed}
		}
		r.Intervals = append(r.Intervals, iv)
		r.Counts.Scheduled += iv.Scheduled
		r.Counts.OK += iv.OK
		r.Counts.Failed += iv.Failed
	}
	r.Counts.Sent = r.Counts.Scheduled
	r.Counts.Unfinished = r.Counts.Scheduled - r.Counts.OK - r.Counts.Failed
	r.Latency[takt.LatencyResponse], r.Latency[takt.LatencyResponseOK] = all.Summary(), ok.Summary()
	return r
}

// found are the sentence about the stalls of a page and the rows of their table.
func found(page string) string {
	sentence := regexp.MustCompile(`The target (stalled|answered nothing)[^<]*`).FindString(page)
	_, rest, _ := strings.Cut(page, "<caption>Stalls")
	body, _, _ := strings.Cut(rest, "</table>")
	for _, row := range regexp.MustCompile(`<tr><th scope="row">([^<\n]*)\s*<td>([^<\n]*)\s*<td>([^<\n]*)`).FindAllStringSubmatch(body, -1) {
		sentence += fmt.Sprintf(" | %s %s %s", row[1], row[2], row[3])
	}
	return sentence
}

// A timeout does not end a stall, and is not a stall where the target answers other operations.
func TestStallsWithTimeouts(t *testing.T) {
	healthy := part{due: 200, fast: 200, inFlight: 1}
	at := func(t float64, p part) part { p.t = t; return p }
	for name, c := range map[string]struct {
		parts []part
		want  string
	}{
		"a freeze longer than the timeout": {[]part{at(1, healthy), at(2, healthy), {t: 3, due: 200, fast: 100, inFlight: 100}, {t: 4, due: 200, timeouts: 200, inFlight: 101}, {t: 5, due: 200, fast: 200, slow: 100, waited: 500 * time.Millisecond, inFlight: 100}},
			"The target stalled once, for up to 1.5s; 298 operations had to wait for it or timed out. | 2.5s 1.5s 298"},
		"within an interval": {[]part{at(1, healthy), {t: 2, due: 200, fast: 40, slow: 100, waited: 500 * time.Millisecond, timeouts: 60, inFlight: 160}, at(3, healthy)},
			"The target stalled once, for up to 790ms; 158 operations had to wait for it or timed out. | 1s 790ms 158"},
		"the rest of the answers in the next interval": {[]part{at(1, healthy), at(2, healthy), {t: 3, due: 200, fast: 100, inFlight: 100}, {t: 4, due: 200, slow: 150, waited: 1497 * time.Millisecond, inFlight: 300}, {t: 5, due: 200, fast: 200, slow: 150, waited: 744 * time.Millisecond, inFlight: 170}},
			"The target stalled once, for up to 1.5s; 297 operations had to wait for it. | 2.5s 1.5s 297"},
		"a part of the operations": {[]part{{t: 1, due: 200, fast: 80, timeouts: 60, inFlight: 60}, {t: 2, due: 200, fast: 80, timeouts: 120, inFlight: 60}, {t: 3, due: 200, fast: 80, timeouts: 120, inFlight: 60}, {t: 3.5, timeouts: 60, inFlight: 60}}, ""},
		"never an answer": {[]part{{t: 1, due: 200, timeouts: 100, inFlight: 101}, {t: 2, due: 200, timeouts: 200, inFlight: 101}, {t: 2.5, timeouts: 100, inFlight: 100}},
			"The target answered nothing in the 2.5s of the run; 400 operations waited in vain. | 0s 2.5s 400"},
		"unfinished": {[]part{{t: 1, due: 200, inFlight: 200}, {t: 2, due: 200, inFlight: 400}, {t: 3, inFlight: 400}},
			"The target answered nothing in the 3s of the run; 400 operations waited in vain. | 0s 3s 400"},
		"no answer from an instant": {[]part{at(1, healthy), at(2, healthy), {t: 3, due: 200, timeouts: 100, inFlight: 101}, {t: 3.5, timeouts: 100, inFlight: 100}},
			"The target stalled once, for up to 1.5s; 200 operations had to wait for it or timed out. | 2s 1.5s 200"},
		"a few at the end": {[]part{at(1, healthy), at(2, healthy), {t: 2.5, timeouts: 20, inFlight: 20}}, ""},
	} {
		if got := found(write(t, parted(c.parts...))); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}
