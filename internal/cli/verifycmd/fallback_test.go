package verifycmd_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/test/targettest"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/clitest"
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
	for _, want := range []string{"verify: a duet: both sides are targets", "verify: no duet: a block of 50ms has 0.", "runs of base and head in turn instead (--pairs auto)\n", "then at most 24 pairs"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s\nlacks %q", said.String(), want)
		}
	}
	if code, _, errs := clitest.Call(t.Context(), cli.Main, append([]string{"verify", "--duet"}, load...)...); code != core.ExitUsage || strings.Contains(errs, "no duet:") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// What is given twice is named.
func TestGivenTwice(t *testing.T) {
	const a, b = "http://127.0.0.1:1/", "http://127.0.0.1:2/"
	for line, want := range map[string]string{
		"verify --base A --head B -- http --rate 5/s -z 1s A":           "the target is given twice: http://127.0.0.1:1/ after --, and with --base and --head; leave it out after --",
		"verify --pairs 8 --base A --head B -- http --rate 5/s -z 1s A": "the target is given twice: ",
		"verify --base A --base A --head B -- http --rate 5/s -z 1s":    "--base is given 2 times, and the command after -- loads one target; give each side once",
		"verify --base A --head B --head A -- http --rate 5/s -z 1s":    "--head is given 2 times, ",
		"verify --base A --head B -- http --rate 5/s -z 1s --proxy A C": "after --: ", // another fault: C is no URL, and A is a value
		"http -n 1 A A": "the url http://127.0.0.1:1/ is given twice; give it once",
	} {
		words := strings.Fields(strings.NewReplacer("A", a, "B", b).Replace(line))
		code, _, errs := clitest.Call(t.Context(), cli.Main, words...)
		if code != core.ExitUsage || !strings.HasPrefix(errs, "takt: "+want) {
			t.Errorf("%s: exit code %d: %s\nwant %s", line, code, errs, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&core.SignalError{Number: 2})
	url := targettest.Serve(t, target.Options{}).URL()
	_, _, errs := clitest.Call(ctx, cli.Main, "verify", "--base", url, "--head", url, "--", "http", "--rate", "20/s", "-z", "200ms", "--no-store")
	if want := "verify: base and head are both " + url + ", so a difference is chance\n"; !strings.Contains(errs, want) {
		t.Errorf("%s\nlacks %s", errs, want)
	}
}
