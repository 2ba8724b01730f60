package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// common are lines of the Common Log Format, at these times of 2026-11-24 in UTC, or at
// whole dates.
func common(at ...string) string {
	var b strings.Builder
	for i, at := range at {
		if !strings.Contains(at, "/") {
			at = "24/Nov/2026:" + at
		}
		fmt.Fprintf(&b, "1.2.3.4 - - [%s +0000] \"GET /%d HTTP/1.1\" 200 5\n", at, i)
	}
	return b.String()
}

// sourceError is why there is no run.
func sourceError(t *testing.T, line, log string) string {
	t.Helper()
	o, e, faults := command(t, line, log, "http://127.0.0.1:1")
	base, err := e.Source()
	if len(faults) > 0 || err != nil {
		t.Fatal(faults, err)
	}
	if _, err = o.Source(t.Context(), base); err == nil {
		o.close()
		return ""
	}
	return err.Error()
}

// A date that nobody meant is named before the run, and not waited for.
func TestGapsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		common("10:00:00", "10:00:01", "11:00:00"):                                         "",
		common("10:00:00", "10:00:01", "12:00:01"):                                         "1 gap in the log is longer than 1h: LOG:2 (2026-11-24 10:00:01) to LOG:3 (2026-11-24 12:00:01), 2h; nothing would be sent meanwhile: give --max-gap 10s",
		common("10:00:00", "24/Nov/2199:10:00:00"):                                         "LOG:1 (2026-11-24 10:00:00) to LOG:2 (2199-11-24 10:00:00), 173 years;",
		common("10:00:00", "01/Jan/1970:00:00:00", "10:00:01"):                             "LOG:2 (1970-01-01 00:00:00) to LOG:1 (2026-11-24 10:00:00), 57 years;",
		common("01:00:00", "03:00:00", "05:00:00", "07:00:00", "09:00:00"):                 "4 gaps in the log are longer than 1h: LOG:1 (2026-11-24 01:00:00)",
		common("10:00:00", "30/Feb/2026:10:00:00", "01/Jan/1800:00:00:00"):                 "",
		common("10:00:00", "10:00:01") + "\n" + common("11:00:02", "25/Nov/2026:00:00:00"): "2 gaps in the log are",
	} {
		log := write(t, text)
		if got := sourceError(t, "--zone UTC", log); (want == "") != (got == "") || !strings.Contains(strings.ReplaceAll(got, log, "LOG"), want) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	day := write(t, common("10:00:00", "10:00:01", "12:00:01"))
	for line, refused := range map[string]bool{
		"--speed 2x": false, "--speed 1.9x": true, "--max-gap 3h": false, "--duration 1s": false, "-n 2": false, "-n 3": true, "--rate 10/s": false, "--path /[01]": false,
	} {
		if got := sourceError(t, line, day); (got != "") != refused {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// With --max-gap a gap is as long as that, and the report says so.
func TestGapsAreShortened(t *testing.T) {
	s := newServer(t)
	log := write(t, common("10:00:00", "11:00:00", "11:00:00", "24/Nov/2199:10:00:00"))
	r := replay(t, "--max-gap 20ms --jitter burst", log, s.URL)
	asked := s.asked()
	slices.Sort(asked) // two are due together
	if got := strings.Join(asked, ","); got != "GET /0,GET /1,GET /2,GET /3" || r.report.DurationS > 5 {
		t.Errorf("%s, %v", got, r.report.DurationS)
	}
	const named = "2 gaps in the log are longer than 20ms: LOG:1 (2026-11-24 10:00:00) to LOG:2 (2026-11-24 11:00:00), 1h; LOG:3 (2026-11-24 11:00:00) to LOG:4 (2199-11-24 10:00:00), 173 years; each is shortened to that"
	if got := strings.ReplaceAll(r.shown, log, "LOG"); !strings.HasPrefix(got, "takt: "+named+"\n") {
		t.Errorf("%q", got)
	}
	if w := r.report.Warnings; r.report.Extra["gaps_shortened"] != uint64(2) || len(w) == 0 || !has(r, "gaps_shortened") {
		t.Errorf("%v, %+v", r.report.Extra, w)
	}
	list, _ := dues(t, "--max-gap 20ms --jitter burst --shard 2/2 --shard-by request", log)
	if got := strings.Join(list, ", "); got != "1 20ms /1, 3 40ms /3" {
		t.Error(got)
	}
}

func has(r result, code takt.WarningCode) bool {
	for _, w := range r.report.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

// A pipe is read once: a gap in it ends the run, unless it passed while nobody wrote.
func TestGapsOfStdin(t *testing.T) {
	o, e, faults := command(t, "", "-", "http://127.0.0.1:1")
	o.Stdin = strings.NewReader(common("10:00:00", "12:00:01"))
	base, err := e.Source()
	if len(faults) > 0 || err != nil {
		t.Fatal(faults, err)
	}
	src, err := o.Source(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.close)
	var uris []string
	err = drainFeed(src, func(rec *trace.Record) { uris = append(uris, string(rec.URI)) })
	if len(uris) != 1 || err == nil || err.Error() != "a gap in the log is longer than 1h: standard input:1 (2026-11-24 10:00:00) to standard input:2 (2026-11-24 12:00:01), 2h0m1s; give --max-gap 10s to make it 10 s long, or a longer --max-gap to wait" {
		t.Errorf("%q, %v", uris, err)
	}
}

func TestMaxGapFlag(t *testing.T) {
	var g maxGap
	if err := g.Set("0"); err == nil || !strings.Contains(err.Error(), "a time above 0") || g.String() != "" {
		t.Error(err)
	}
	if err := g.Set("90"); err != nil || g.String() != "1m30s" {
		t.Error(err, g.String())
	}
	_, _, faults := command(t, "--max-gap 5s --rate 10/s", write(t, common("10:00:00")), "http://127.0.0.1:1")
	if len(faults) != 1 || !strings.Contains(faults[0].Error(), "both --max-gap and a rate are given") {
		t.Error(faults)
	}
}
