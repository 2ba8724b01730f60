package payload

import (
	"regexp"
	"strings"
	"testing"
)

func TestTraceparentForm(t *testing.T) {
	form := regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`)
	traces := new(Traces)
	tmpl, err := (&Env{Traces: traces}).Parse("header traceparent", "{{traceparent}}")
	if err != nil || !tmpl.Traces() || tmpl.Fixed() || tmpl.Random() {
		t.Fatalf("%v, %+v", err, tmpl)
	}
	seen := map[string]bool{}
	for _, run := range []string{"01M7E6N1VJ8Q0S0T9XWZK3N5RA", "01M7E6N1VJ8Q0S0T9XWZK3N5RB", ""} {
		traces.Begin(run)
		for seq := range uint64(10_000) {
			got := string(tmpl.Append(nil, seq))
			if len(got) != tmpl.MaxLen() || !form.MatchString(got) || strings.Contains(got, strings.Repeat("0", 16)) {
				t.Fatalf("operation %d of run %q: %s", seq, run, got)
			}
			id := string(traces.Append(nil, seq))
			if !strings.HasPrefix(got, "00-"+id+"-") {
				t.Fatalf("%s has not the id %s", got, id)
			}
			seen[id], seen[got[36:]] = true, true
		}
	}
	if len(seen) != 60_000 {
		t.Errorf("%d different ids of 30 000 traces and 30 000 spans", len(seen))
	}
}

func TestTraceparentNeedsTraces(t *testing.T) {
	if _, err := new(Env).Parse("body", "{{traceparent}}"); err == nil || !strings.Contains(err.Error(), "no trace id here") {
		t.Errorf("%v", err)
	}
}

// The id of a run is known when it begins.
func TestRunID(t *testing.T) {
	run := new(Run)
	tmpl, err := (&Env{Run: run}).Parse("body", "{{.Run}}-{{.Seq}}")
	if err != nil || tmpl.Fixed() || tmpl.Random() {
		t.Fatalf("%v, %+v", err, tmpl)
	}
	for _, id := range []string{"01M7E6N1VJ8Q0S0T9XWZK3N5RA", "01M7E6N1VJ8Q0S0T9XWZK3N5RB"} {
		run.Begin(id)
		if got := string(tmpl.Append(nil, 7)); got != id+"-7" || len(got) > tmpl.MaxLen() {
			t.Errorf("%s of at most %d bytes", got, tmpl.MaxLen())
		}
	}
	if _, err := new(Env).Parse("body", "{{.Run}}"); err == nil {
		t.Error("there is an id without a run")
	}
}
