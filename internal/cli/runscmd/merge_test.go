package runscmd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/test/clitest"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/pkg/takt"
)

// The shards of testdata are of runs that were made: whole is valid, cut had a SIGTERM to
// the third of four shards at half time.
const (
	wholeShards = "testdata/shards/whole"
	cutShards   = "testdata/shards/cut"
)

func TestMergeJudges(t *testing.T) {
	for _, c := range []struct {
		line string
		code int
		want []string // regular expressions of all that was printed
	}{
		{wholeShards, core.ExitOK, []string{"^valid run", `300/s intended`, "600 scheduled"}},
		{"--strict --assert p99<1s --assert rate>=99% " + wholeShards, core.ExitOK, []string{`PASS p99<1s`, `PASS rate>=99%`}},
		{"--assert p99<1us " + wholeShards, core.ExitAssertion, []string{"^valid run", `FAIL p99<1us \(p99 was`}},
		{wholeShards + "/1.json " + wholeShards + "/2.json " + wholeShards + "/3.json", core.ExitOK, []string{"^valid run"}},

		{cutShards, core.ExitOK, []string{`80/s intended \(constant, uniform\), 70/s achieved \(87.50 %\)`, "shard 3/4 was cut short, after 1.018s of 2s", "takt: the merged run is invalid; see its warnings"}},
		{"--strict " + cutShards, core.ExitInvalid, []string{"the run is invalid, so it proves nothing"}},
		{"--assert p99<1s " + cutShards, core.ExitInvalid, []string{"VOID p99<1s", "the run is invalid, so the assertions prove nothing", "^INVALID RUN: the shards did not put the whole load on the target at once"}},

		{wholeShards + "/1.json " + wholeShards + "/3.json", core.ExitFailed, []string{"^takt: shard 2/3 is missing; give all reports of the run, or --allow-missing"}},
		{"--allow-missing " + wholeShards + "/1.json " + wholeShards + "/3.json", core.ExitOK, []string{"shard 2/3 is missing", `300/s intended \(constant, uniform\), 200/s achieved \(66.67 %\)`, "the merged run is invalid"}},
		{"--allow-missing --strict " + wholeShards + "/1.json " + wholeShards + "/3.json", core.ExitInvalid, nil},

		{wholeShards + " " + cutShards, core.ExitFailed, []string{"it differs in number of shards"}},
		{"--run-group weekly " + wholeShards + " " + cutShards, core.ExitOK, []string{"^valid run"}},
		{"--run-group daily " + wholeShards, core.ExitFailed, []string{`none of the reports belongs to the run group "daily"`}},
		{"testdata", core.ExitFailed, []string{`testdata has no \*.json file with the report of a shard`}},
		{"", core.ExitUsage, []string{"takt merge needs the shards of a run"}},
		{"--assert p99 " + wholeShards, core.ExitUsage, []string{"p99"}},
	} {
		code, out, errs := clitest.Call(t.Context(), cli.Main, append([]string{"merge", "--no-store"}, strings.Fields(c.line)...)...)
		all := strings.Join(strings.Fields(out+errs), " ")
		for _, want := range c.want {
			if !regexp.MustCompile(want).MatchString(all) {
				t.Errorf("merge %s: no %q in\n%s%s", c.line, want, out, errs)
			}
		}
		if code != c.code {
			t.Errorf("merge %s: exit code %d, want %d\n%s", c.line, code, c.code, errs)
		}
	}
}

// shardFiles are the shards of a folder, changed and put into another one.
func shardFiles(t *testing.T, from string, change func(*takt.Report)) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files, err := filepath.Glob(from + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		var r takt.Report
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if change(&r); err == nil {
			text, err = json.Marshal(r)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An assertion that an invalid whole meets, or misses for sure, says nothing of the rest of its figures.
func TestMergeSaysInvalid(t *testing.T) {
	dir := shardFiles(t, wholeShards, func(r *takt.Report) {
		r.Verdict = takt.Invalid
		r.Warn("generator_bottleneck", "late")
	})
	for assertion, c := range map[string]struct {
		code  int
		lines []string
	}{
		"p99<10s":   {core.ExitOK, []string{"takt: the merged run is invalid; see its warnings", "PASS p99<10s (p99 was"}},
		"p99<1us":   {core.ExitInvalid, []string{"VOID p99<1us", "takt: the run is invalid, so the assertions prove nothing; see its warnings"}},
		"errors<1%": {core.ExitInvalid, []string{"VOID errors<1%", "takt: the run is invalid, so the assertions prove nothing; see its warnings"}},
	} {
		code, _, errs := clitest.Call(t.Context(), cli.Main, "merge", "--no-store", "--assert", assertion, dir)
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if code != c.code || len(lines) != len(c.lines) {
			t.Fatalf("%s: exit code %d, want %d\n%s", assertion, code, c.code, errs)
		}
		for i, want := range c.lines {
			if !strings.HasPrefix(lines[i], want) {
				t.Errorf("%s: %q, want %q", assertion, lines[i], want)
			}
		}
	}
}

// The merged report may lie in the folder of its shards.
func TestMergeOfAFolderLeavesTheWholeOut(t *testing.T) {
	dir := shardFiles(t, wholeShards, func(*takt.Report) {})
	for range 2 {
		code, out, errs := clitest.Call(t.Context(), cli.Main, "merge", "--no-store", "-o", "json="+filepath.Join(dir, "whole.json"), dir)
		if code != core.ExitOK || !strings.HasPrefix(out, "valid run") {
			t.Errorf("exit code %d\n%s%s", code, out, errs)
		}
	}
	if _, _, errs := clitest.Call(t.Context(), cli.Main, "merge", "--no-store", dir); !strings.Contains(errs, "whole.json is left out: it is the report of a whole run") {
		t.Error(errs)
	}
}

// A run group can have runs of many nights in the store: the newest is meant, and a shard
// that it lacks is not taken from the night before.
func TestMergeOfARunGroup(t *testing.T) {
	db := filepath.Join(t.TempDir(), "takt.db")
	night := func(n int, without string) {
		dir := shardFiles(t, wholeShards, func(r *takt.Report) {
			r.ID += string(rune('A' + n))
			r.StartedAt = r.StartedAt.AddDate(0, 0, n)
		})
		files, err := filepath.Glob(dir + "/*.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if filepath.Base(name) == without {
				continue
			}
			if code, _, errs := clitest.Call(t.Context(), cli.Main, "store", "import", "--store", db, name); code != core.ExitOK {
				t.Fatal(errs)
			}
		}
	}
	night(0, "")
	night(1, "")
	merge := func() (code int, out, errs string) {
		return clitest.Call(t.Context(), cli.Main, "merge", "--store", db, "--no-store", "--run-group", "weekly")
	}
	code, out, errs := merge()
	if code != core.ExitOK || !strings.HasPrefix(out, "valid run") || strings.Count(errs, "takt: shard ") != 3 || strings.Count(errs, "B\n") != 3 {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	night(2, "3.json")
	if code, out, errs = merge(); code != core.ExitFailed || !strings.Contains(errs, "shard 3/3 is missing") {
		t.Errorf("a shard is missing: exit code %d\n%s%s", code, out, errs)
	}
	code, _, errs = clitest.Call(t.Context(), cli.Main, "merge", "--store", db, "--run-group", "daily")
	if code != core.ExitFailed || !strings.Contains(errs, `there is no shard of the run group "daily"`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// Many shards of a group are told in one line, and the worst of them in the report.
func TestMergeOfManyShards(t *testing.T) {
	const n = 25
	dir, db := t.TempDir(), filepath.Join(t.TempDir(), "takt.db")
	text, err := os.ReadFile(wholeShards + "/1.json")
	if err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= n; k++ {
		var r takt.Report
		err := json.Unmarshal(text, &r)
		r.ID, r.Schedule.Shard, r.Schedule.RunGroup = fmt.Sprint("01R", k), fmt.Sprintf("%d/%d", k, n), "many"
		out, bad := json.Marshal(r)
		if err = errors.Join(err, bad, os.WriteFile(filepath.Join(dir, fmt.Sprint(k, ".json")), out, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(dir + "/*.json")
	if code, _, errs := clitest.Call(t.Context(), cli.Main, append([]string{"store", "import", "--store", db}, files...)...); code != core.ExitOK {
		t.Fatal(errs)
	}
	_, want, _ := clitest.Call(t.Context(), cli.Main, "merge", "--no-store", dir)
	code, out, errs := clitest.Call(t.Context(), cli.Main, "merge", "--store", db, "--no-store", "--run-group", "many")
	if code != core.ExitOK || !strings.Contains(errs, "takt: merging 25 shards of many; takt runs run_group=many lists them\n") || strings.Count(errs, "\n") != 1 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	id := regexp.MustCompile(`(?m)^id .*$`)
	if id.ReplaceAllString(out, "") != id.ReplaceAllString(want, "") || !strings.Contains(out, "the worst 5 of 25 shards") {
		t.Errorf("from the store\n%s\nfrom the folder\n%s", out, want)
	}
}
