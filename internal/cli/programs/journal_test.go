package programs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
)

// The run of a program is followed while it goes on, as every other run, and stored at its end.
func TestRunInProgress(t *testing.T) {
	home := t.TempDir()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	var out lines
	env := core.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Interrupt: ctx, Programs: func(string) bool { return true },
		Getenv: func(name string) string {
			return map[string]string{"XDG_STATE_HOME": home, "XDG_DATA_HOME": home}[name]
		},
	}
	watch, err := new(kept.Storing).NewWatch(env)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan int)
	go func() {
		ended <- cli.Main(env, []string{self(t), "--rate", "100/s", "-z", "1m", "--fail", "--label", "a=b", "--progress", "none", "there:1"})
	}()
	defer func() {
		stop(&core.SignalError{Number: 2})
		if code := <-ended; code != 130 {
			t.Errorf("exit code %d: %s", code, out.String())
		}
		if left, err := watch.Going(); err != nil || len(left) > 0 {
			t.Errorf("after the run: %v, %v", left, err)
		}
	}()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		list, err := watch.Going()
		if err != nil || len(list) > 1 {
			t.Fatal(list, err)
		}
		if len(list) == 0 {
			continue
		}
		if r := list[0].Report; r.Kind != "bench" || r.Labels["a"] != "b" || r.Variables["host"] != "there:1" || list[0].Ended {
			t.Fatalf("%+v", r)
		}
		so, err := watch.SoFar(t.Context(), list[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		if so.Ran < 2*time.Second {
			continue
		}
		if n := so.Report.Counts; n.OK == 0 || n.Failed == 0 || n.Scheduled != n.OK+n.Failed+n.Dropped+n.Unfinished || so.Report.Errors[0].Class != "unlucky" {
			t.Errorf("%+v, %+v", n, so.Report.Errors)
		}
		return
	}
	t.Errorf("no run in a minute: %s", out.String())
}
