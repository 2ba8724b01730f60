package verifycmd

import (
	"errors"
	"io"
	"testing"

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
