package verifycmd_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/target/targettest"

	"github.com/taktload/takt/internal/cli/clitest"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
)

// A duet that was not asked for and does not suit the command becomes pairs of runs. One that
// was asked for is a fault.
func TestDuetFallsBackToPairs(t *testing.T) {
	base, head := targettest.Serve(t, target.Options{}).URL(), targettest.Serve(t, target.Options{}).URL()
	load := []string{"--metric", "p50", "--base", base, "--head", head, "--", "http", "--rate", "20/s", "-z", "200ms", "--no-store"}
	ctx, cancel := context.WithCancelCause(t.Context())
	wire := &clitest.Tripwire{Text: "verify: pair 1 of 24", Spring: func() { cancel(&core.SignalError{Number: 2}) }}
	var said bytes.Buffer
	code := cli.Main(core.Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.MultiWriter(wire, &said), Interrupt: ctx, Getenv: func(string) string { return "" },
	}, append([]string{"verify"}, load...))
	if code != 130 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"verify: a duet: both targets are up", "verify: no duet: a block of 50ms has 0.", "runs of base and head in turn instead (--pairs auto)\n", "then at most 24 pairs"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s\nlacks %q", said.String(), want)
		}
	}
	if code, _, errs := clitest.Call(t.Context(), cli.Main, append([]string{"verify", "--duet"}, load...)...); code != core.ExitUsage || strings.Contains(errs, "no duet:") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
