package verifycmd

import (
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

func TestStopped(t *testing.T) {
	for _, test := range []struct {
		pairs, signal int
		command       []string
		want          string
	}{
		{0, 2, nil, "stopped by SIGINT before the first pair was made"},
		{1, 2, nil, "stopped by SIGINT after 1 pair; their runs are kept"},
		{7, 15, nil, "stopped by SIGTERM after 7 pairs; their runs are kept"},
		{7, 2, []string{"http", "--no-store"}, "stopped by SIGINT after 7 pairs"},
	} {
		b := &block{command: test.command, base: make([]stored.Run, test.pairs)}
		if got := b.stopped(&core.SignalError{Number: test.signal}).Error(); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
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
