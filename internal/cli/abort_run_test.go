package cli

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/pkg/takt"
)

// A run that is ended has its whole report, and no other of --repeat follows.
func TestAbort(t *testing.T) {
	url := serve(t, target.Options{ErrorRate: 0.6})
	path := t.TempDir() + "/r.json"
	code, _, errs := call(t.Context(), "http", "--rate", "200/s", "-z", "9s", "--repeat", "3", "--abort-on", "ok<1", "--abort-on", "errors>20%", "-o", "json="+path, url)
	var r takt.Report
	if err := errors.Join(readJSON(strings.Replace(path, ".json", ".1.json", 1), &r), readJSON(strings.Replace(path, ".json", ".2.json", 1), &r)); err == nil {
		t.Error("a second run was made")
	}
	if code != core.ExitAssertion && r.Verdict == takt.Valid {
		t.Errorf("exit code %d: %s", code, errs)
	}
	i := len(r.Warnings) - 1
	if r.DurationS >= 9 || i < 0 || r.Warnings[i].Code != "aborted" || !strings.Contains(r.Warnings[i].Message, "errors>20% was true in second 1 (errors was ") {
		t.Errorf("%v s, warnings %+v", r.DurationS, r.Warnings)
	}
	if c := r.Counts; c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished || !strings.Contains(errs, "takt: aborted: errors>20% was true in second 1 (errors was ") {
		t.Errorf("%+v, %s", c, errs)
	}
}

// A schedule that asks for nothing in a second aborts no healthy run, though what
// is due at its end is sent a little early. Seconds 2 and 3 are such here.
func TestPauseIsNoSilence(t *testing.T) {
	url := serve(t, target.Options{})
	for _, engine := range []string{"loop", "worker"} {
		if engine == "loop" && runtime.GOOS != "linux" {
			continue
		}
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			code, out, errs := call(t.Context(), "http", "--engine", engine, "--stages", "1s@4,2s@0,1s@4", "--abort-on", "ok==0", url)
			if code != core.ExitOK || !strings.Contains(out, "8 scheduled = 8 ok") {
				t.Errorf("exit code %d: %s", code, errs)
			}
		})
	}
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
