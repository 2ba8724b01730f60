package runscmd_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/test/clitest"
)

// sixRuns is a store of a run a day, the newest of an hour ago: run 0 is the oldest. Labels protect
// runs 1 and 3.
func sixRuns(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs.db")
	st, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i := range 6 {
		r := clitest.Report(i, time.Now().Add(-time.Hour-time.Duration(5-i)*24*time.Hour))
		switch i {
		case 1:
			r.Labels["baseline"] = "v1"
		case 3:
			r.Labels["keep"] = "yes"
		}
		if err := st.Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// numbers are the runs whose line in a listing matches, by their numbers.
func numbers(listing, line string) string {
	var all []string
	for _, found := range regexp.MustCompile(`(?m)^`+line+` *0{25}(\d)`).FindAllStringSubmatch(listing, -1) {
		all = append(all, found[1])
	}
	return strings.Join(all, "")
}

func TestPrune(t *testing.T) {
	for _, test := range []struct {
		args               string
		gone, stay, remain string
	}{
		{"--keep 2 --yes", "20", "31", "5431"},
		{"--keep 1 --yes", "420", "31", "531"},
		{"--keep 9 --yes", "", "", "543210"},
		{"--keep 3d --yes", "20", "1", "5431"},
		{"--older 3d --yes", "20", "1", "5431"},
		{"--keep 2 branch!=main --yes", "2", "31", "54310"},
		{"--keep 2", "", "31", "543210"},
		{"--keep 2 --dry-run", "", "31", "543210"},
	} {
		t.Run(test.args, func(t *testing.T) {
			path := sixRuns(t)
			code, out, errs := clitest.Call(t.Context(), cli.Main, append([]string{"store", "prune", "--store", path}, strings.Fields(test.args)...)...)
			if code != core.ExitOK || numbers(out, "deleted") != test.gone || numbers(out, "stays") != test.stay {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
			if dry := !strings.Contains(test.args, "--yes"); dry != strings.Contains(errs, "add --yes") || dry && numbers(out, "would go") != "20" {
				t.Errorf("dry run %v:\n%s%s", dry, out, errs)
			}
			if _, out, _ := clitest.Call(t.Context(), cli.Main, "runs", "--store", path); numbers(out, "") != test.remain {
				t.Errorf("left are %s, want %s", numbers(out, ""), test.remain)
			}
		})
	}
}

func TestPruneFaults(t *testing.T) {
	for args, want := range map[string]string{
		"":                          "needs --keep N",
		"--keep 0":                  `bad --keep: "0" is not a number of runs above 0`,
		"--keep -3":                 "is not a number of runs above 0",
		"--keep 1x":                 "is not a number of runs above 0",
		"--keep 5 --older 3d":       "give one of them",
		"--keep 5 --yes --dry-run":  "give one of them",
		"--keep 5 nosuch=1":         "nosuch",
		"--keep 99999999999999999d": "is not a number of runs above 0",
	} {
		path := sixRuns(t)
		code, _, errs := clitest.Call(t.Context(), cli.Main, append([]string{"store", "prune", "--store", path}, strings.Fields(args)...)...)
		if code != core.ExitUsage || !strings.Contains(errs, want) || strings.Count(errs, "takt: ") != 1 {
			t.Errorf("%s: exit code %d, %s", args, code, errs)
		}
	}
}

// A protected run outlives prune until the protection ends; a label is not undone.
func TestStoreKeep(t *testing.T) {
	path := sixRuns(t)
	call := func(want int, says string, args ...string) {
		t.Helper()
		code, out, errs := clitest.Call(t.Context(), cli.Main, append(args, "--store", path)...)
		if code != want || !strings.Contains(errs, says) {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	call(core.ExitOK, "is protected", "store", "keep", "@-6", "@-4")
	call(core.ExitOK, "1 run was deleted; 4 runs are protected and stay", "store", "prune", "--keep", "1", "branch!=none", "--yes")
	call(core.ExitOK, "is not protected any more", "store", "keep", "--undo", "00000000000000000000000000")
	call(core.ExitOK, "is still protected, by its label baseline", "store", "keep", "--undo", "00000000000000000000000001")
	call(core.ExitOK, "1 run was deleted; 3 runs", "store", "prune", "--keep", "1", "--yes")
	call(core.ExitFailed, "there is no run x", "store", "keep", "x")
	call(core.ExitUsage, "needs a run", "store", "keep")
	call(core.ExitUsage, "the name of a run is empty", "store", "keep", "")
}
