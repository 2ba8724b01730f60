package apmserver

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Where each accepted event is, what is said of those that are no documents, and whether
// the run may be compared.
func TestAccount(t *testing.T) {
	told := account{known: true, accepted: 1000, told: true, acked: 1000, counted: true, indexed: 1000}
	for name, test := range map[string]struct {
		change func(*drained)
		line   string
		code   takt.WarningCode // of the warning; "": there is none
		words  string           // in it
	}{
		"all arrived":       {func(*drained) {}, "events: 1000 accepted, 1000 acked, 0 dropped, 0 queued, 1000 indexed", "", ""},
		"and its own":       {func(d *drained) { d.acked = 1002 }, "events: 1000 accepted, 1002 acked, 0 dropped, 0 queued, 1000 indexed (2 of them not of this load)", "", ""},
		"a queue of before": {func(d *drained) { d.acked, d.before = 1005, 5 }, "events: 1000 accepted, 1005 acked, 0 dropped, 0 queued, 1000 indexed", "", ""},
		"filtered": {
			func(d *drained) { d.acked, d.filtered, d.indexed = 990, 10, 990 },
			"events: 1000 accepted, 990 acked, 0 dropped, 10 filtered, 0 queued, 990 indexed", "", "",
		},
		"dropped": {
			func(d *drained) { d.acked, d.dropped, d.indexed = 0, 1001, 0 },
			"events: 1000 accepted, 0 acked, 1001 dropped, 0 queued, 0 indexed (1 of them not of this load)",
			warn.EventsDropped, "apm-server dropped 1001 events, of 1000 accepted; its first error: why",
		},
		"queued": {
			func(d *drained) { d.acked, d.queued, d.indexed, d.gaveUp, d.took = 0, 960, 0, true, 76*time.Second },
			"events: 1000 accepted, 0 acked, 0 dropped, 960 queued, 40 unaccounted, 0 indexed",
			warn.NotDrained, "after 76 s 1000 events had not left apm-server (960 in its queue, 40 not yet there), of 1000 accepted; its first error: why",
		},
		"nobody tells": {
			func(d *drained) {
				d.account = account{known: true, accepted: 1000, counted: true, indexed: 400}
				d.gaveUp = true
			},
			"events: 1000 accepted, 400 indexed, 600 missing", warn.NotDrained, "600 of 1000 accepted events were no documents; apm-server shows no counters",
		},
		"not in the cluster": {
			func(d *drained) { d.indexed = 999 },
			"events: 1000 accepted, 1000 acked, 0 dropped, 0 queued, 999 indexed, 1 missing", warn.DocumentsMissing, "1 of 1000 accepted events are no documents, although the cluster acknowledged them",
		},
		"others arrive": {
			func(d *drained) { d.gaveUp = true }, "events: 1000 accepted, 1000 acked, 0 dropped, 0 queued, 1000 indexed", warn.NotDrained, "documents still arrived",
		},
		"of others": {
			func(d *drained) { d.indexed = 1003 }, "events: 1000 accepted, 1000 acked, 0 dropped, 0 queued, 1003 indexed", warn.DocumentsSurplus, "3 documents more than events were accepted",
		},
	} {
		d := drained{account: told}
		test.change(&d)
		r := &takt.Report{Extra: map[string]any{extraAccount: d.extra()}}
		d.warn(r, "why")
		if got := accountLine(r.Extra); got != test.line {
			t.Errorf("%s: %s\nwant %s", name, got, test.line)
		}
		switch {
		case test.code == "" && len(r.Warnings) == 0:
		case len(r.Warnings) != 1 || r.Warnings[0].Code != test.code || !strings.Contains(r.Warnings[0].Message, test.words):
			t.Errorf("%s: %+v", name, r.Warnings)
		}
		if d.known && d.told && !d.gaveUp { // the identity
			if rest := d.accepted + d.before + d.others() - d.acked - d.dropped - d.filtered - d.queued - d.unaccounted(); rest != 0 {
				t.Errorf("%s: the account is wrong by %v", name, rest)
			}
		}
	}
}

// Who knows how many events were accepted: the answers; the server where some requests
// had none, or were made in the warm-up. One that was started anew tells nothing.
func TestWhoCountsTheAccepted(t *testing.T) {
	counters := func(accepted, acked float64) Counters {
		return Counters{"apm-server.processor.stream.accepted": accepted, "libbeat.output.events.acked": acked, "libbeat.pipeline.events.active": 0}
	}
	report := func(change func(*takt.Report)) *takt.Report {
		r := &takt.Report{Counts: takt.Counts{OK: 9, Failed: 1}, Status: map[string]uint64{"202": 9, "503": 1}, Extra: map[string]any{"events": uint64(100), "events_accepted": uint64(95)}}
		change(r)
		return r
	}
	for name, test := range map[string]struct {
		r        *takt.Report
		after    Counters
		accepted float64
		known    bool
		told     bool
	}{
		"the answers":      {report(func(*takt.Report) {}), counters(150, 150), 95, true, true},
		"not all answered": {report(func(r *takt.Report) { r.Counts.Unfinished = 1 }), counters(155, 160), 105, true, true},
		"intake v1":        {report(func(r *takt.Report) { r.Counts.Unfinished = 1 }), counters(50, 150), 95, true, true},
		"a warm-up":        {report(func(r *takt.Report) { r.WarmupS = 5 }), counters(250, 250), 200, true, true},
		"a silent warm-up": {report(func(r *takt.Report) { r.WarmupS = 5 }), Counters{}, 95, false, false},
		"started anew":     {report(func(*takt.Report) {}), counters(10, 10), 95, true, false},
	} {
		a := accountOf(test.r)
		a.tell(counters(50, 50), test.after)
		if a.accepted != test.accepted || a.known != test.known || a.told != test.told || a.sent != 100 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
