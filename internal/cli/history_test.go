package cli_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/test/clitest"
	"github.com/taktload/takt/internal/test/clocktest"
	"github.com/taktload/takt/pkg/takt"
)

// revision is a label that is up to mischief from the 20th on.
func revision(i int, mischief string) string { return fmt.Sprintf("%07x%s", 0xa00000+i, mischief) }

// filled is a store with a run of each of 30 revisions, whose p99 is the factor × as high from the 20th on.
func filled(t *testing.T, factor float64, mischief string) string {
	t.Helper()
	r := rand.New(rand.NewPCG(30, 1))
	var reports []*takt.Report
	for i := range 30 {
		at := time.Date(2026, 9, 1+i, 12, 0, 0, 0, time.UTC)
		one := clitest.Report(0, at)
		one.ID = fmt.Sprintf("01HISTORY%017d", i)
		one.Labels = map[string]string{"branch": "main", "revision": revision(i, mischief), "revision_date": at.Format(time.RFC3339)}
		l := one.Latency[takt.LatencyResponse]
		l.P99 = 400 * math.Exp(0.02*r.NormFloat64())
		if i >= 20 {
			l.P99 *= factor
		}
		one.Latency[takt.LatencyResponse] = l
		reports = append(reports, one)
	}
	path := filepath.Join(t.TempDir(), "runs.db")
	st, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Save(t.Context(), reports...); err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return clitest.Call(t.Context(), cli.Main, append([]string{"history", "-n", "10000"}, args...)...)
}

// The exit code is 4 for a change for the worse, until somebody accepts it.
func TestHistoryExitCodes(t *testing.T) {
	worse, same := filled(t, 1.24, ""), filled(t, 1, "")
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"--store", same}, core.ExitOK, "OK: no change"},
		{[]string{"--store", worse}, core.ExitRegression, "REGRESSED: 1 open change for the worse"},
		{[]string{"--store", worse, "branch=main", "--accept", revision(20, "")}, core.ExitOK, "worse, accepted"},
		{[]string{"--store", worse, "--accept", revision(3, "")}, core.ExitRegression, "--accept a00003: no change for the worse is there"},
		{[]string{"--store", worse, "--accept", ""}, core.ExitRegression, "worse, open errors"},
		{[]string{"--store", worse, "--metric", "p50"}, core.ExitOK, "OK: no change"},
		{[]string{"--store", worse, "--tolerance", "40%", "--detect", "50%"}, core.ExitOK, "OK: no change"},
		{[]string{"--store", same, "-n", "5"}, core.ExitInconclusive, "5 revisions are too few to show 10 % in p50"},
		{[]string{"--store", same, "branch=other"}, core.ExitFailed, "no run matches"},
		{[]string{"--store", same, "nonsense=1"}, core.ExitUsage, "no run has"},
		{[]string{"--store", same, "--detect", "1%"}, core.ExitUsage, "tolerance"},
		{[]string{"--store", same, "-o", "junit"}, core.ExitUsage, "unknown format"},
	} {
		code, out, errs := run(t, c.args...)
		if code != c.code || !strings.Contains(strings.Join(strings.Fields(out+errs), " "), strings.ReplaceAll(c.text, "a00003", revision(3, ""))) {
			t.Errorf("%q: exit code %d, want %d with %q:\n%s%s", c.args, code, c.code, c.text, out, errs)
		}
	}
}

// The text names the size, the revision and the neighbours, in 80 columns.
func TestHistoryText(t *testing.T) {
	_, out, _ := run(t, "--store", filled(t, 1.24, ""))
	flat := strings.Join(strings.Fields(out), " ")
	if !strings.Contains(flat, "p99 rose by 2") || !strings.Contains(flat, "at "+revision(20, "")+" (2026-09-21), the revision after "+revision(19, "")+": worse, open") {
		t.Error(out)
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if n := strings.Count(out, "▲"); n != 1 {
		t.Errorf("%d changes are marked in the curve", n)
	}
}

// Labels are anybody's text: they leave no control characters, elements or links.
func TestHistoryHostileLabels(t *testing.T) {
	const mischief = "<script>alert(1)</script>\x1b[31m\"' | @everyone $(reboot) ]]>\n"
	path := filled(t, 1.24, mischief)
	dir := t.TempDir()
	code, out, errs := run(t, "--store", path, "-o", "text", "-o", "json="+dir+"/h.json", "-o", "markdown="+dir+"/h.md", "-o", "html="+dir+"/h.html")
	if code != core.ExitRegression || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if strings.ContainsAny(out, "\x1b") {
		t.Errorf("%q", out)
	}
	files := map[string]string{}
	for _, name := range []string{"h.json", "h.md", "h.html"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	for _, bad := range []string{"<script>alert", "\x1b", "@everyone"} {
		if strings.Contains(files["h.md"], bad) || bad != "@everyone" && strings.Contains(files["h.html"], bad) {
			t.Errorf("%q is in an output", bad)
		}
	}
	var h struct {
		Groups []struct {
			Series []struct{ Changes []history.Change }
		}
	}
	if err := json.Unmarshal([]byte(files["h.json"]), &h); err != nil {
		t.Fatal(err)
	}
	if c := h.Groups[0].Series[1].Changes; len(c) != 1 || c[0].Revision != revision(20, mischief) {
		t.Errorf("JSON has the changes %+v", c)
	}
	if strings.Count(files["h.html"], "<svg") != 2*3 {
		t.Errorf("%d charts", strings.Count(files["h.html"], "<svg"))
	}
}

// The history of 10,000 runs takes at most twice as long as to collate them.
func TestScaleOfHistory(t *testing.T) {
	clocktest.Asked(t)
	path := filepath.Join(t.TempDir(), "runs.db")
	st, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	var batch []*takt.Report
	for i := range 10_000 {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Hour)
		one := clitest.Report(0, at)
		one.ID = fmt.Sprintf("%026d", i)
		one.Labels["revision"], one.Labels["revision_date"] = fmt.Sprintf("%040x", 0xabc000+i/5), at.Truncate(5*time.Hour).Format(time.RFC3339)
		l := one.Latency[takt.LatencyResponse]
		l.P50, l.P99 = 150*math.Exp(0.02*r.NormFloat64()), min(499, 300*math.Exp(0.05*r.NormFloat64())*(1+0.3*float64(i/9000)))
		one.Latency[takt.LatencyResponse] = l
		batch = append(batch, one)
	}
	if err := st.Save(t.Context(), batch...); err != nil {
		t.Fatal(err)
	}
	st.Close()
	took := map[string]time.Duration{}
	for _, args := range [][]string{{"collate", "revision"}, {"history", "-n", "20000"}} {
		took[args[0]] = time.Hour
		for range 3 {
			begun := time.Now()
			if code, _, errs := clitest.Call(t.Context(), cli.Main, append(args, "--store", path)...); errs != "" {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			took[args[0]] = min(took[args[0]], time.Since(begun))
		}
	}
	t.Log(took)
	if took["history"] > 2*took["collate"]+time.Second {
		t.Error(took)
	}
}
