package format_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/generators"
)

// honestRun is a run of a steady trial in which everything is right.
func honestRun() generators.TrialRun {
	return generators.TrialRun{
		Said: generators.Said{Generator: "wrk2", Figures: map[string]float64{
			generators.Answered: 3000, generators.Errors: 0, generators.Rate: 500, generators.P50: 1.1, generators.P90: 1.2, generators.P99: 1.8, generators.Max: 9,
		}},
		Exit: "exit status 0", CPU: 48.2, Memory: 17 << 20,
		Served: generators.Served{Requests: 3000, Answered: 3000, Rate: 500, Whole: 499.9, LateP99: 0.4, TargetP99: 0.2, TargetWorst: 1},
		Felt:   generators.Felt{Due: 3000, P50: 1, P90: 1, P99: 1, Max: 1},
	}
}

// honestAnswer has each state, a trial that was left out, one that cannot be read, and names that are up to mischief.
func honestAnswer() generators.Answer {
	trial := func(name string, connections int, weak bool, change func(r *generators.TrialRun)) generators.Trial {
		r := honestRun()
		change(&r)
		t := generators.Trial{Pathology: name, Connections: connections, Weak: weak, Command: []string{"wrk2", "-R500", "http://127.0.0.1:8080/"}, Runs: []generators.TrialRun{r}}
		generators.Judge(&t)
		return t
	}
	right := func(*generators.TrialRun) {}
	var trials []generators.Trial
	for _, connections := range []int{50, 5} {
		trials = append(trials,
			trial("steady", connections, false, right),
			trial("freeze", connections, false, func(r *generators.TrialRun) {
				r.Felt.P90, r.Felt.P99, r.Felt.Max = 501, 951, 1001
				r.Served.Requests, r.Served.LateP99, r.Said.Figures[generators.Max] = 2700, 892, 1000
			}),
			trial("slow-start", connections, false, func(r *generators.TrialRun) {
				r.Said.Figures[generators.P99], r.Served.TargetP99, r.Served.TargetWorst = 30, 6, 30
			}),
			trial("overload", connections, false, func(r *generators.TrialRun) {
				r.Felt.P50, r.Felt.P90, r.Felt.P99, r.Felt.Max = 20002, 36002, 39602, 40002
			}),
			trial("resets", connections, false, func(r *generators.TrialRun) { r.Served.Broken = 30 }),
			trial("closes", connections, false, func(r *generators.TrialRun) { r.Said, r.Unread = generators.Said{}, "ab: the output is not whole" }),
			trial("stop", connections, true, func(r *generators.TrialRun) { r.Served.LateP99 = 450 }),
			generators.Trial{Pathology: "quota", Connections: connections, Weak: true, LeftOut: "takt may not create control groups with a CPU limit here; run it as root"},
		)
	}
	other := trial("stop", 50, true, func(r *generators.TrialRun) {
		r.Served.LateP99, r.Said.Invalid, r.Said.Words, r.Said.Figures[generators.P99] = 450, true, []string{"<b>|late\x1b[31m"}, 440
		delete(r.Said.Figures, generators.P50)
	})
	return generators.Answer{
		SchemaVersion: generators.Schema, Takt: "1.2.3", StartedAt: time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC), Host: map[string]any{"os": "linux"},
		Rate: 500, Duration: 6, Repeats: 1,
		Generators: []generators.Generator{
			{Name: "wrk2", Version: "4.0.0", Command: []string{"wrk2", "-t1", "-c{{.Connections}}", "-R{{.Rate}}", "{{.URL}}"}, Notes: []string{"wrk2 calibrates itself for 10 s, so give it 20 s or more (--duration 20s)"}, Trials: trials},
			{Name: "<b>|@everyone\x1b[31m\n", Command: []string{"./a b", "<script>", "{{.URL}}"}, Trials: []generators.Trial{other}},
		},
	}
}

func TestHonesty(t *testing.T) {
	a := honestAnswer()
	for _, kind := range format.Honesties() {
		var b bytes.Buffer
		if err := format.Honesty(&b, a, kind, false); err != nil {
			t.Fatal(err)
		}
		if kind != "html" {
			golden(t, filepath.Join("testdata/honesty", "all."+kind), b.String())
		}
		for line := range strings.Lines(b.String()) {
			if kind == "text" && utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("more than 80 columns: %s", line)
			}
			if strings.ContainsRune(line, '\x1b') {
				t.Errorf("%s: %q", kind, line)
			}
		}
		switch kind {
		case "svg":
			d := xml.NewDecoder(&b)
			for {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
		case "json":
			var plain, again = object{}, generators.Answer{}
			if err := json.Unmarshal(b.Bytes(), &plain); err != nil {
				t.Fatal(err)
			}
			for _, fault := range faultsBy(schemaNamed(t, "judge-v1"), plain, "answer") {
				t.Error(fault)
			}
			if err := json.Unmarshal(b.Bytes(), &again); err != nil || again.Lies() != a.Lies() || again.Lies() == 0 {
				t.Errorf("%d lies, %d after JSON, %v", a.Lies(), again.Lies(), err)
			}
		case "html":
			if !strings.Contains(b.String(), "<svg") || !strings.Contains(b.String(), "wrk2 4.0.0") || strings.Contains(b.String(), "'<script>'") {
				t.Error("the page has no picture, no name, or a name that is not escaped")
			}
		}
	}
	var b bytes.Buffer
	if err := format.Honesty(&b, a, "csv", false); err == nil {
		t.Error("csv was written")
	}
}
