package cli

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// Assertions on a latency that a method does not have are refused before the run, when the target has described the method.
func TestAssertionsOnMethods(t *testing.T) {
	s := targettest.Serve(t, target.Options{GRPC: true})
	url := strings.TrimPrefix(s.URL(), "http://") + "/takt.Target/"
	for method, want := range map[string]int{"Unary": core.ExitUsage, "ServerStream": core.ExitOK} {
		code, _, errs := call(t.Context(), "grpc", "-n", "5", "-c", "1", "--no-store", "--assert", "first_part_due.p99<1h", url+method)
		if code != want || want == core.ExitUsage && !strings.Contains(errs, "this load has no first_part_due time") {
			t.Errorf("%s: exit code %d: %s", method, code, errs)
		}
	}
	if n := s.Truth().Counts.Requests; n != 5 {
		t.Errorf("the target got %d calls; want 5", n)
	}
}

// The figures of streams and goodput are in all outputs of a run, add up over shards, and decide in assert and compare.
func TestFiguresOfStreams(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("parts are measured in the loop mode on Linux")
	}
	url := serve(t, target.Options{SSE: "1ms", Service: "2ms"})
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	var reports []takt.Report
	for _, shard := range []string{"1/2", "2/2"} {
		code, out, errs := call(t.Context(), "llm", "--rate", "50/s", "-z", "1s", "--shard", shard, "--run-group", "one", "--max-tokens", "5", "--slo", "ttft<1h,maxgap<1ns",
			"--assert", "goodput<1%,ttft.p99<1h,tpot.p50<1h", "-o", "json=-", "-o", "samples="+file("rows"), "-o", "csv="+file("seconds"), url)
		if code != core.ExitOK && code != core.ExitInvalid { // takt may be late on a busy machine
			t.Fatalf("exit code %d: %s", code, errs)
		}
		if err := os.WriteFile(file(strings.ReplaceAll(shard, "/", "-")), []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		var r takt.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	column := func(name, of string) (values []string) {
		text, err := os.ReadFile(file(name))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.Index(rows[0], of)
		if i < 0 {
			t.Fatalf("%s has no %s: %v", name, of, rows[0])
		}
		for _, row := range rows[1:] {
			values = append(values, row[i])
		}
		return values
	}
	if rows := column("rows", "ttft"); len(rows) != 25 || slices.Contains(rows, "") {
		t.Errorf("first tokens of the rows: %v", rows)
	}
	if rows := column("rows", "good"); slices.Contains(rows, "yes") {
		t.Errorf("rows are good: %v", rows)
	}
	if seconds := column("seconds", "gap_p99_us"); seconds[0] == "" {
		t.Errorf("gaps of the seconds: %v", seconds)
	}
	column("seconds", "good")

	code, out, errs := call(t.Context(), "merge", "--no-store", "--assert", "goodput<1%,maxgap.p50<1h", "-o", "json=-", file("1-2"), file("2-2"))
	var whole takt.Report
	if err := json.Unmarshal([]byte(out), &whole); err != nil || code != core.ExitOK && code != core.ExitInvalid {
		t.Fatal(code, errs, err)
	}
	for _, name := range []string{"ttft", "maxgap", "ttfo"} {
		// On a busy machine all gaps of an operation may be unknown.
		if n := whole.Latency[name].Count; n != 50 && name != "maxgap" || reports[0].Latency[name].Count+reports[1].Latency[name].Count != n {
			t.Errorf("%s of %d operations; want 50", name, n)
		}
	}
	if g := whole.Goodput; g == nil || g.Good != 0 || g.Undecided+g.Missed["maxgap<1ns"] < 50 || g.Missed["ttft<1h"] != 0 || g.SLO != "ttft<1h,maxgap<1ns" {
		t.Errorf("goodput %+v", g)
	}
	if n, ok := tokens.Of(&whole); !ok || n.Output != 250 || n.Length != 50 || n.From != tokens.Usage || n.PerS() > 250/whole.DurationS {
		t.Errorf("tokens %v", whole.Extra[tokens.Key])
	}
	if iv := whole.Intervals[0]; iv.Good == nil || iv.Latency["ttft"].P99 == 0 || iv.Latency["tpot"].HDR == "" {
		t.Errorf("the first second is %+v", iv)
	}

	for args, want := range map[string]string{
		"--assert goodput>1%":                  "add --slo",
		"--abort-on goodput<1%":                "add --slo",
		"--slo ttft<1s --abort-on ttfb.p99>1s": "has no ttfb time; use response, service, ttft",
		"--slo ttft<1s --assert tttft.p99<1s":  "this load has no tttft time",
	} {
		if code, _, errs := call(t.Context(), append(append([]string{"llm", "-n", "1"}, strings.Fields(args)...), url)...); code != core.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %s; want %q", args, code, errs, want)
		}
	}
}
