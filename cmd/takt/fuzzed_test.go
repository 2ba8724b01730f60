package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scripts/fuzzed distinguishes a fuzz target that ran from one that stood still, by the lines of
// go test -fuzz.
func TestFuzzed(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("no awk")
	}
	const head = "fuzz: elapsed: 0s, gathering baseline coverage: 0/114 completed\nfuzz: elapsed: 0s, gathering baseline coverage: 114/114 completed, now fuzzing with 2 workers\n"
	report := func(at, execs, rate string) string {
		return "fuzz: elapsed: " + at + ", execs: " + execs + " (" + rate + "/sec), new interesting: 5 (total: 119)\n"
	}
	for log, want := range map[string]string{
		head + report("3s", "9000", "3000") + report("6s", "18000", "3000") + report("6s", "18000", "0") + "PASS\n": "18000 executions in 6 s, 3000/s",
		head + report("3s", "63950", "21316") + report("6s", "63950", "0") + report("9s", "63950", "0") + "PASS\n":  "63950 executions in 9 s, 7105/s",
		head + report("3s", "63950", "21316") + strings.Repeat(report("9s", "63950", "0"), 5):                       "63950 executions in 9 s, but stood still for 4 of 6 reports: failed",
		head + report("1m3s", "1574", "25"):                                       "1574 executions in 63 s, fewer than 25/s: failed",
		head + report("1m3s", "1575", "25"):                                       "1575 executions in 63 s, 25/s",
		head + report("10m1s", "601000", "1000"):                                  "601000 executions in 601 s, 1000/s",
		"fuzz: elapsed: 0s, gathering baseline coverage: 0/114 completed\nPASS\n": "0 executions in 0 s, fewer than 25/s: failed",
		"": "0 executions in 0 s, fewer than 25/s: failed",
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("awk", "-f", "../../scripts/fuzzed", path).Output()
		got := strings.TrimSpace(string(out))
		if err != nil {
			got += ": failed"
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", log, got, want)
		}
	}
}
