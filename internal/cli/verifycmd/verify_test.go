package verifycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/checkout"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
)

// A signal ends a series with a judgement of the pairs that there are, and the command that continues it.
func TestStopped(t *testing.T) {
	for _, test := range []struct {
		pairs   int // complete ones; the signal comes in the next
		command []string
		verdict verify.Word
		want    string
	}{
		{0, nil, "", "stopped by SIGTERM before the first pair was made"},
		{1, nil, verify.Inconclusive, "stopped by SIGTERM after 1 pair of 20; their runs are kept: make more with the same command, and judge all of them with " +
			"takt verify --base side=base --base 'date>=2026-11-28T19:00:00Z' --head side=head --head 'date>=2026-11-28T19:00:00Z' --vary host --metric p50 --store runs.db"},
		{19, nil, verify.OK, "stopped by SIGTERM after 19 pairs of 20; their runs are kept: "},
		{19, []string{"--no-store"}, verify.OK, "stopped by SIGTERM after 19 pairs of 20"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		v := &verifyCommand{env: core.Env{Stderr: io.Discard, Settings: &core.Settings{}}, options: verify.DefaultOptions(), base: []string{"a"}, head: []string{"b"}}
		v.env.Settings.Given = []core.Setting{{Name: "metric", Value: "p50", Origin: core.Origin{Kind: core.FromFlag}}, {Name: "pairs", Value: "20", Origin: core.Origin{Kind: core.FromFlag}}}
		v.store.Where = "runs.db"
		v.options.Lift = placeVariables()
		s, command := &series{pairs: "20", most: 24}, append([]string{"http"}, test.command...)
		if faults := s.validate(v, command); faults != nil {
			t.Fatal(faults)
		}
		b, made := s.block(ctx, v, command), 0
		b.run = func(side, url string) (stored.Run, error) {
			run, err := busy(1, 0, 0)(side, url)
			if made++; made > 2*(test.pairs+1) { // after the warm-up pair
				cancel(&core.SignalError{Number: 15})
				return run, ctx.Err()
			}
			run.ID, run.Labels, run.Settings = fmt.Sprint(made), map[string]string{"side": side}, stored.NewSettings(map[string]any{"host": url}, "")
			run.StartedAt = time.Date(2026, 11, 28, 19, 0, made-3, 5e8, time.UTC)
			return run, err
		}
		j, err := s.play(b)
		var exit *core.ExitError
		if !errors.As(err, &exit) || exit.Code != 143 || !strings.HasPrefix(err.Error(), test.want) || test.command != nil && err.Error() != test.want {
			t.Errorf("%v\nwant %s", err, test.want)
		}
		if j.Verdict != test.verdict || test.verdict != "" && (len(j.Head.Runs) != test.pairs || !strings.HasPrefix(j.Advice[0], fmt.Sprintf("ended after %s of 20: stopped by SIGTERM", pairsOf(test.pairs)))) {
			t.Errorf("%d pairs: %s of %d, %q", test.pairs, j.Verdict, len(j.Head.Runs), j.Advice)
		}
	}
}

// Only --build builds.
func TestMade(t *testing.T) {
	for _, c := range []struct {
		build string
		took  time.Duration
		want  string
	}{
		{"make", 1500 * time.Millisecond, "was built in 1.5 s, in /c"},
		{"make", 0, "is built already"},
		{"", 50 * time.Millisecond, "was checked out in 0.05 s, in /c"},
		{"", 0, "is checked out already"},
	} {
		s := commitSide{commits: &commits{build: c.build}, built: &checkout.Built{Folder: "/c", Took: c.took}}
		if got := s.made(); got != c.want {
			t.Errorf("%q after %v: %s, want %s", c.build, c.took, got, c.want)
		}
	}
}

// What was asked for wrongly goes before runs from which nothing can be concluded.
func TestVerdictOfFaults(t *testing.T) {
	unfit, asked := &verify.UnfitError{Runs: []stored.Run{{ID: "a"}}}, &stored.UsageError{Err: errors.New("b")}
	for _, test := range []struct {
		err  error
		code int
	}{
		{unfit, core.ExitInvalid},
		{asked, core.ExitUsage},
		{errors.Join(unfit, asked), core.ExitUsage},
		{errors.New("c"), core.ExitFailed},
	} {
		if code := (core.Env{Stderr: io.Discard}).Exit(verdictOf(test.err)); code != test.code {
			t.Errorf("%v: exit code %d, want %d", test.err, code, test.code)
		}
	}
}

// CPUs that takt may not use are a fault before anything is built.
func TestMissingCPUs(t *testing.T) {
	for _, test := range []struct {
		wanted, allowed []int
		want            string
	}{
		{[]int{1, 7}, []int{1, 0}, "there is no CPU 7 that takt may use; give some of 0-1"},
		{[]int{0, 1}, []int{0, 1}, "<nil>"},
		{[]int{7}, nil, "<nil>"},
	} {
		if got := fmt.Sprint(missing(test.wanted, test.allowed)); got != test.want {
			t.Errorf("%v of %v: %s, want %s", test.wanted, test.allowed, got, test.want)
		}
	}
}

// A load that begins with a URL is that of takt http, also with a placeholder as its port.
func TestLoadWithoutCommand(t *testing.T) {
	git := &commits{commits: "a..b"}
	for line, want := range map[string]string{
		"http://127.0.0.1:{{.Port}}/ -n 1":      "http http://127.0.0.1:{{.Port}}/ -n 1",
		"http http://127.0.0.1:{{.Port}}/ -n 1": "http http://127.0.0.1:{{.Port}}/ -n 1",
		"":                                      "",
	} {
		if got := strings.Join(git.meant(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if got := (&commits{}).meant([]string{"http://a/"}); len(got) != 1 {
		t.Errorf("without --git: %q", got)
	}
}

// An empty --git is told, and does not compare stored runs.
func TestEmptyGit(t *testing.T) {
	v := &verifyCommand{env: core.Env{Settings: &core.Settings{Given: []core.Setting{{Name: "git", Origin: core.Origin{Kind: core.FromFlag}}}}}}
	if faults := v.git.validate(v, nil); len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), "--git is empty; ") {
		t.Errorf("%v", faults)
	}
}
