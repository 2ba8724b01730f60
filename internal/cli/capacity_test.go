package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/test/targettest"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/clitest"
	"github.com/taktload/takt/pkg/takt"
)

// atHome is takt with a store of its own, in fake time: how many steps a search needs depends on the machine.
type atHome struct {
	t    *testing.T
	home string
}

// fake calls test in fake time, with the URL of a target in real time. Fake time stands while takt waits for an
// answer, so each comes at once, after 0 ns, which counts as 1.
func fake(t *testing.T, test func(a atHome, url string)) {
	t.Helper()
	url := targettest.Serve(t, target.Options{}).URL()
	synctest.Test(t, func(t *testing.T) { test(atHome{t, t.TempDir()}, url) })
}

func (a atHome) run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	a.t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(core.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Interrupt: pace.In(ctx, pace.Timer),
		Getenv: func(name string) string {
			return map[string]string{"XDG_DATA_HOME": a.home, "XDG_STATE_HOME": a.home}[name]
		},
	}, args)
	return code, out.String(), errs.String()
}

// answer is the report of kind capacity that args write to stdout.
func (a atHome) answer(want int, args ...string) (*takt.Report, capacity.Answer, string) {
	a.t.Helper()
	code, out, errs := a.run(a.t.Context(), append([]string{"capacity", "-o", "json"}, args...)...)
	if code != want {
		a.t.Fatalf("exit code %d, want %d: %s", code, want, errs)
	}
	var r takt.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		a.t.Fatal(err)
	}
	c, err := capacity.In(&r)
	if err != nil {
		a.t.Fatal(err)
	}
	return &r, c, errs
}

// short are steps of some operations each.
func short(slo, url string, more ...string) []string {
	args := append([]string{"--slo", slo, "--start", "20/s", "--max", "40/s", "-z", "200ms", "--warmup", "0", "--pause", "0"}, more...)
	return append(args, "--", "http", "-a", "ann:tiger", "--label", "branch=x", url)
}

// The steps and the answer are stored, and the answer is drawn again from them: as it is,
// for another need, and for another SLO.
func TestCapacityUpToMax(t *testing.T) {
	fake(t, func(a atHome, url string) {
		t := a.t
		r, c, errs := a.answer(core.ExitOK, short("p95<60s", url, "--need", "100/s", "--seed", "7")...)
		if c.Ended != capacity.EndMax || c.Sustainable != 40 || len(c.Steps) != 2 || c.Steps[0].Offered != 20 || c.Steps[1].Offered != 40 || c.Machines.Count != 3 {
			t.Errorf("%+v", c)
		}
		if r.Kind != "capacity" || r.Labels["branch"] != "x" || r.Variables["slo"] != "p95<60s,errors<1%,dropped<1%" || r.Schedule.Arrivals != "poisson" || r.Counts.OK != r.Counts.Scheduled || r.Counts.OK == 0 {
			t.Errorf("%s %v %v %+v %+v", r.Kind, r.Labels, r.Variables, r.Schedule, r.Counts)
		}
		if command := strings.Join(r.Command, " "); !strings.HasPrefix(command, "takt capacity -o json --slo p95<60s") || !strings.Contains(command, "-- http -a xxxxx --label branch=x http://") || strings.Contains(command, "--rate") {
			t.Errorf("command %s", command)
		}
		if n := strings.Count(errs, "capacity: step "); n != 2 || !strings.Contains(errs, "step 2: 40/s offered") {
			t.Errorf("progress %q", errs)
		}
		_, runs, _ := a.run(t.Context(), "runs")
		if strings.Count(runs, " http ") != 2 || strings.Count(runs, " capacity ") != 1 {
			t.Errorf("stored are\n%s", runs)
		}
		_, runs, errs = a.run(t.Context(), "runs", "kind=capacity", "sustainable>39/s")
		if _, row, _ := strings.Cut(runs, "\n"); len(strings.Fields(row)) < 5 || strings.Fields(row)[4] != "40/s" {
			t.Errorf("the rate of the answer is not the one that it found:\n%s%s", runs, errs)
		}
		for i, s := range c.Steps {
			_, out, _ := a.run(t.Context(), "show", s.ReportID, "-o", "json")
			var step takt.Report
			if err := json.Unmarshal([]byte(out), &step); err != nil || step.Schedule.RunGroup != r.ID || step.Schedule.Seed != uint64(7+i) {
				t.Errorf("step %d: %+v (%v)", i+1, step.Schedule, err)
			}
		}
		if _, out, _ := a.run(t.Context(), "show", r.ID); !strings.HasPrefix(out, "p95<60s,errors<1%,dropped<1% is met up to 40/s") {
			t.Errorf("shown as %s", out)
		}
		if _, again, _ := a.answer(core.ExitOK, "--from", r.ID, "--need", "200/s"); again.Machines.Count != 5 || again.Sustainable != 40 {
			t.Errorf("for 200/s %+v", again.Machines)
		}
		if _, other, _ := a.answer(core.ExitAssertion, "--from", r.ID, "--slo", "rate>900%"); other.Ended != capacity.EndNone || len(other.Steps) != 2 || *other.Interval.High != 20 {
			t.Errorf("for another SLO %+v", other)
		}
	})
}

// An SLO that nothing can keep: exit code 3, after the rates below the first.
func TestCapacityNone(t *testing.T) {
	fake(t, func(a atHome, url string) {
		t := a.t
		svg := filepath.Join(t.TempDir(), "curve.svg")
		args := short("rate>900%", url, "--no-store", "-o", "svg="+svg)
		_, c, errs := a.answer(core.ExitAssertion, args...)
		if c.Ended != capacity.EndNone || len(c.Steps) != 6 || !strings.Contains(errs, "takt: no rate met the SLO") {
			t.Errorf("%+v: %s", c, errs)
		}
		if b, err := os.ReadFile(svg); err != nil || !bytes.HasPrefix(b, []byte("<svg ")) {
			t.Errorf("%.20q (%v)", b, err)
		}
		if _, runs, _ := a.run(t.Context(), "runs"); strings.Contains(runs, "capacity") {
			t.Errorf("stored are\n%s", runs)
		}
	})
}

// Runs at constant rates and a ramp, which were made before, are a curve too.
func TestCapacityFromRuns(t *testing.T) {
	fake(t, func(a atHome, url string) {
		t := a.t
		dir := t.TempDir()
		var from []string
		for _, load := range []string{"10/s", "40/s", "0/s..9/s"} {
			path := filepath.Join(dir, strings.NewReplacer("/", "", ".", "").Replace(load)+".json")
			length := "200ms"
			if strings.Contains(load, "..") {
				length = "2s"
			}
			if code, _, errs := a.run(t.Context(), "http", "--rate", load, "-z", length, "--no-store", "-o", "json="+path, url); code != core.ExitOK {
				t.Fatal(errs)
			}
			from = append(from, path)
		}
		if _, c, _ := a.answer(core.ExitOK, "--slo", "p95<60s", "--from", from[0], "--from", from[1]); c.Ended != capacity.EndMax || c.Sustainable != 40 {
			t.Errorf("of two runs %+v", c)
		}
		if _, c, _ := a.answer(core.ExitOK, "--slo", "p95<60s", "--from", from[2]); len(c.Steps) != 2 || c.Sustainable < 6 || c.Sustainable > 6.75 { // the last second ends with its last operation
			t.Errorf("of a ramp %+v", c)
		}
	})
}

func TestCapacityFaults(t *testing.T) {
	a := atHome{t, t.TempDir()}
	rows := filepath.Join(t.TempDir(), "load.csv")
	if err := os.WriteFile(rows, []byte("#yyy-mm-dd hh:mm:ss latency\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want []string
	}{
		{"--start 0/s --max 5x --precision 0.1% --repeats 0 -o yaml=x", core.ExitUsage, []string{"bad --start", "bad --max", "--precision is 0.1 %", "--repeats is 0", `unknown format "yaml"`, "needs --slo", "needs a load command"}},
		{"--slo p95>1s,p95<3 -- http http://127.0.0.1:1/", core.ExitUsage, []string{`"p95>1s" does not break`, `"p95<3"`}},
		{"--slo p95<1s -- http --rate 5/s -z 3s --assert p99<1s -o json --arrivals uniform http://127.0.0.1:1/", core.ExitUsage,
			[]string{"--rate comes after --, but the search", "--duration comes after --; give it", "--output comes", "--assert comes after --; give its conditions with --slo"}},
		{"--slo p95<1s -- http --nosuch http://127.0.0.1:1/", core.ExitUsage, []string{"after --: ", "--nosuch"}},
		{"--slo p95<1s -- target", core.ExitUsage, []string{`"target" is not a load command`}},
		{"--slo p95<1s -- version", core.ExitUsage, []string{`after --: unknown command "version"`}},
		{"--slo p95<1s --from x -- http http://127.0.0.1:1/", core.ExitUsage, []string{"leave one of them out"}},
		{"--slo p95<1s -o svg= -o json=a -o svg=a -- http http://127.0.0.1:1/", core.ExitUsage, []string{`output "svg=" has no path`, "two outputs go to a"}},
		{"--slo p95<1s -o samples -- http http://127.0.0.1:1/", core.ExitUsage, []string{"samples cannot be made"}},
		{"--slo p95<1s -o json=/nosuch/dir/x -- http http://127.0.0.1:1/", core.ExitUsage, []string{"cannot write the report"}},
		{"--slo p95<1s -- http http://127.0.0.1:1/", core.ExitFailed, []string{"the step at 10/s ended with exit code 1", "connection refused"}},
		{"--from nosuch", core.ExitFailed, []string{"nosuch"}},
		{"--slo p95<1s --from " + rows, core.ExitFailed, []string{"is not a report"}},
	} {
		code, _, errs := a.run(t.Context(), append([]string{"capacity"}, strings.Fields(c.args)...)...)
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, code, c.code, errs)
		}
		for _, part := range c.want {
			if !strings.Contains(errs, part) {
				t.Errorf("%s: %s\nlacks %q", c.args, errs, part)
			}
		}
	}
}

// The budget is told at the start, used up step by step, and ends the search with what is known:
// exit code 5 when that is no limit.
func TestCapacityBudget(t *testing.T) {
	fake(t, func(a atHome, url string) {
		t := a.t
		args := []string{"capacity", "-o", "json", "--slo", "p95<60s", "--start", "20/s", "-z", "200ms", "--warmup", "0", "--pause", "0", "--no-store", "--budget", "700ms", "--", "http", url}
		code, out, errs := a.run(t.Context(), args...)
		var r takt.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err, errs)
		}
		c, err := capacity.In(&r)
		if err != nil || code != core.ExitInconclusive || c.Ended != capacity.EndBudget || len(c.Steps) > 3 || c.Interval.High != nil || r.Variables["budget_s"] != 0.7 {
			t.Errorf("exit code %d, %+v, %v (%v)", code, c, r.Variables, err)
		}
		for _, want := range []string{"the budget of 700ms is enough for about 3 steps; disturbed", "of 700ms used\n", "the budget was used up before the limit was found"} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s\nlacks %q", errs, want)
			}
		}
		if code, _, errs := a.run(t.Context(), "capacity", "--slo", "p95<60s", "-z", "200ms", "--warmup", "0", "--pause", "0", "--budget", "500ms", "--", "http", url); code != core.ExitUsage || !strings.Contains(errs, "--budget is 500ms, and a step takes 200ms; give 600ms or more") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	})
}

// A signal ends the search; what was measured so far is answered.
func TestCapacityInterrupted(t *testing.T) {
	fake(t, func(a atHome, url string) {
		t := a.t
		ctx, cancel := context.WithCancelCause(t.Context())
		var out bytes.Buffer
		code := cli.Main(core.Env{
			Stdin: strings.NewReader(""), Stdout: &out, Interrupt: pace.In(ctx, pace.Timer), Getenv: func(string) string { return "" },
			Stderr: &clitest.Tripwire{Text: "capacity: step 1:", Spring: func() { cancel(&core.SignalError{Number: 2}) }},
		}, append([]string{"capacity", "-o", "json", "--no-store"}, short("p95<60s", url)...))
		var r takt.Report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || code != 130 {
			t.Fatal(code, err)
		}
		if c, err := capacity.In(&r); err != nil || c.Ended != capacity.EndBroken || len(c.Steps) != 1 {
			t.Errorf("%+v (%v)", c, err)
		}
		if code, _, errs := a.run(ctx, append([]string{"capacity"}, short("p95<60s", url)...)...); code != 130 {
			t.Errorf("before the first step: exit code %d: %s", code, errs)
		}
	})
}
