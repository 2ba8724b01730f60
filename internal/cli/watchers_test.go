package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/takt"
)

// watched is a load whose runs are followed: it writes down the calls of its watchers, and is a protocol
// whose driver fails as the test says.
type watched struct {
	redis
	probe   error               // of the driver
	fail    bool                // each operation fails
	second  func(number int)    // called in each second
	reports []*takt.Report      // that End got
	calls   map[string][]string // by watcher
}

func (w *watched) Open(context.Context, int) (*takt.Driver, error) {
	return &takt.Driver{
		Probe:  func(context.Context) error { return w.probe },
		Worker: func(int) (takt.Worker, error) { return fails(w.fail), nil },
	}, nil
}

// fails is a worker whose operations fail, or not.
type fails bool

func (f fails) Do(_ context.Context, _ *takt.Op, r *takt.Result) {
	if f {
		r.Class, r.Err = "unlucky", errors.New("no luck")
	}
}

func (fails) Close() error { return nil }

// watcher notes its calls under a name.
func (w *watched) watcher(name string) live.Watcher {
	note := func(call string) { w.calls[name] = append(w.calls[name], call) }
	return live.Watcher{
		Begin: func(h live.Head, start time.Time) {
			note(fmt.Sprintf("begin %v", h.Run != "" && !start.IsZero()))
		},
		Second: func(live.Snapshot) {
			note("second")
			if name == "b" && w.second != nil {
				w.second(len(w.calls[name]) - 1)
			}
		},
		End: func(r *takt.Report) {
			note(fmt.Sprintf("end %v", r != nil))
			w.reports = append(w.reports, r)
		},
	}
}

// run runs takt with the load.
func (w *watched) run(t *testing.T, ctx context.Context, abort <-chan struct{}, args ...string) (code int, errs string) {
	t.Helper()
	home, out := t.TempDir(), bytes.Buffer{}
	var stderr bytes.Buffer
	w.calls = map[string][]string{}
	row := driver.Row{Use: "watched [flags]", Short: "load", Kind: "watched", New: func(io.Reader) driver.Load {
		return driver.Load{Options: w, Predecessor: driver.Predecessor{Name: "words", Watch: func(io.Writer) live.Watcher { return w.watcher("words") }}}
	}}
	env := core.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr, Interrupt: ctx, Abort: abort, Rows: []driver.Row{row},
		Watchers: []func() live.Watcher{func() live.Watcher { return w.watcher("a") }, func() live.Watcher { return w.watcher("b") }},
		Getenv: func(name string) string {
			return map[string]string{"XDG_DATA_HOME": home, "XDG_STATE_HOME": home}[name]
		},
	}
	code = Main(env, append([]string{"watched", "--no-store"}, args...))
	return code, stderr.String()
}

// However a run ends, each watcher has one Begin, then the seconds, and one End with the report. A run that
// did not begin has only the End, without a report.
func TestWatchers(t *testing.T) {
	for name, c := range map[string]struct {
		args    string
		probe   error
		fail    bool
		signal  bool // in the first second
		abort   bool // and at once, too
		code    int
		warning takt.WarningCode // in the report that End leaves
	}{
		"whole":         {args: "-n 20 -c 1", code: core.ExitOK},
		"not begun":     {args: "-n 20 -c 1", probe: errors.New("no way"), code: core.ExitFailed},
		"aborted":       {args: "--rate 50/s -z 5m --abort-on failed>0", fail: true, code: core.ExitFailed, warning: "aborted"},
		"interrupted":   {args: "--rate 50/s -z 5m", signal: true, code: core.ExitSignal + 2, warning: "cancelled"},
		"ended at once": {args: "--rate 50/s -z 5m", signal: true, abort: true, code: core.ExitSignal + 2, warning: "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			abort := make(chan struct{})
			w := &watched{probe: c.probe, fail: c.fail, redis: redis{command: "get"}}
			w.second = func(number int) {
				if c.signal && number == 1 {
					cancel(&core.SignalError{Number: 2})
					if c.abort {
						close(abort)
					}
				}
			}
			code, errs := w.run(t, ctx, abort, strings.Fields(c.args)...)
			if code != c.code {
				t.Errorf("exit code %d: %s", code, errs)
			}
			for _, name := range []string{"words", "a", "b"} {
				got := slices.Compact(slices.Clone(w.calls[name]))
				want := []string{"begin true", "second", "end true"}
				if c.probe != nil {
					want = []string{"end false"}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s was called %q", name, w.calls[name])
				}
				if n := len(w.calls[name]); n > 0 && slices.Index(w.calls[name], want[len(want)-1]) != n-1 {
					t.Errorf("%s was called after its end: %q", name, w.calls[name])
				}
			}
			for _, r := range w.reports {
				if c.warning != "" && !r.Warned(c.warning) {
					t.Errorf("the report has no warning %s: %+v", c.warning, r.Warnings)
				}
			}
		})
	}
}

// Each run of --repeat has watchers of its own.
func TestWatchersOfRepeatedRuns(t *testing.T) {
	w := &watched{redis: redis{command: "get"}}
	if code, errs := w.run(t, t.Context(), nil, "-n", "5", "-c", "1", "--repeat", "2"); code != core.ExitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	want := []string{"begin true", "second", "end true", "begin true", "second", "end true"}
	if got := slices.Compact(w.calls["a"]); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if len(w.reports) != 6 || w.reports[0] == w.reports[3] { // of words, a and b
		t.Errorf("%d reports", len(w.reports))
	}
}

// What a predecessor's words replace: the line a second.
func TestWordsReplaceTheLines(t *testing.T) {
	for args, lines := range map[string]bool{"--progress words": false, "--progress line": true, "": true} {
		w := &watched{redis: redis{command: "get"}}
		_, errs := w.run(t, t.Context(), nil, append(strings.Fields(args), "--rate", "20/s", "-z", "700ms")...)
		if got := strings.Contains(errs, "lag"); got != lines || len(w.calls["words"]) < 3 {
			t.Errorf("%q: lines %v, words %q, %s", args, got, w.calls["words"], errs)
		}
	}
}
