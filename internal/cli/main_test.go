package cli

import (
	"context"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/taktload/takt/internal/test/clitest"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/takt"
)

// serve runs a target until the test ends.
func serve(t *testing.T, o target.Options) (url string) {
	t.Helper()
	return targettest.Serve(t, o).URL()
}

// call runs takt in this process.
func call(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	return clitest.Call(ctx, Main, args...)
}

// Two runs at once in one process do not see each other, and leave the process as
// it was.
func TestTwiceAtOnce(t *testing.T) {
	procs, gc := runtime.GOMAXPROCS(0), gcPercent()
	url := serve(t, target.Options{})
	paths := []string{"/first", "/second"}
	reports := make([]takt.Report, len(paths))
	var both sync.WaitGroup
	for i, path := range paths {
		both.Go(func() {
			n := []string{"60", "90"}[i]
			code, out, errs := call(t.Context(), "http", "--rate", "300/s", "-n", n, "-o", "json=-", url+path)
			if code != core.ExitOK {
				t.Errorf("%s: exit code %d: %s", path, code, errs)
				return
			}
			if err := json.Unmarshal([]byte(out), &reports[i]); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for i, path := range paths {
		want := []uint64{60, 90}[i]
		if r := &reports[i]; r.Counts.OK != want || r.Counts.Scheduled != want || r.Variables["path"] != path {
			t.Errorf("%s: %+v of %v, want %d", path, r.Counts, r.Variables["path"], want)
		}
	}
	if reports[0].ID == reports[1].ID {
		t.Error("both runs have one id")
	}
	if p, g := runtime.GOMAXPROCS(0), gcPercent(); p != procs || g != gc {
		t.Errorf("afterwards GOMAXPROCS is %d and GOGC %d, want %d and %d", p, g, procs, gc)
	}
}

func gcPercent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}

// The exit codes are a promise to scripts: they never change.
func TestExitCodes(t *testing.T) {
	for got, want := range map[int]int{
		core.ExitOK: 0, core.ExitFailed: 1, core.ExitUsage: 2, core.ExitAssertion: 3, core.ExitRegression: 4,
		core.ExitInconclusive: 5, core.ExitInvalid: 6, core.ExitSignal + 2: 130, core.ExitSignal + 15: 143,
	} {
		if got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

// The first signal, given by the context, ends the schedule but not the report;
// and it ends what never began.
func TestInterrupt(t *testing.T) {
	for _, number := range []int{2, 15} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&core.SignalError{Number: number})
		code, _, errs := call(ctx, "http", "--rate", "10/s", "-z", "30s", serve(t, target.Options{}))
		if code != 128+number {
			t.Errorf("signal %d: exit code %d: %s", number, code, errs)
		}
		code, _, errs = call(ctx, "target", "--addr", "127.0.0.1:0")
		if code != 128+number {
			t.Errorf("signal %d: the target's exit code is %d: %s", number, code, errs)
		}
	}
}

// A command line is shown as it was given, but for its secrets.
func TestCommand(t *testing.T) {
	s := serve(t, target.Options{})
	url := strings.Replace(s, "http://", "http://bob:lion@", 1)
	code, out, errs := call(t.Context(), "http", "--label", "b=2", "--label", "a=1", "-n", "5", "-a", "ann:tiger", "-H", "Cookie: id=seven", "--header=X-Tok:seven", "-H=X-A: 1", "-o", "json", url)
	var r takt.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
		t.Fatal(code, err, errs)
	}
	want := "takt http --label b=2 --label a=1 -n 5 -a xxxxx -H Cookie: xxxxx --header=X-Tok: xxxxx -H=X-A: xxxxx -o json " + strings.Replace(url, "lion", "xxxxx", 1)
	if got := strings.Join(r.Command, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
