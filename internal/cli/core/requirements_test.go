package core

import (
	"errors"
	"testing"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/pkg/takt"
)

// A ledger that does not add up fails --strict only: whose topic is shared can leave --strict out.
func TestOutcomeOfTheLedger(t *testing.T) {
	for _, c := range []struct {
		strict bool
		ledger takt.Ledger
		want   int
	}{
		{true, takt.Ledger{}, ExitOK},
		{true, takt.Ledger{Source: "ends", Acknowledged: 10, Uncertain: 5}, ExitOK},
		{true, takt.Ledger{Source: "ends", Acknowledged: 10, Missing: 1}, ExitInvalid},
		{true, takt.Ledger{Source: "ends", Acknowledged: 10, Surplus: 1}, ExitInvalid},
		{true, takt.Ledger{Source: "ends", Acknowledged: 10, Expired: 1}, ExitInvalid},
		{true, takt.Ledger{Source: "ends", Acknowledged: 10, Dead: 1}, ExitInvalid},
		{false, takt.Ledger{Source: "ends", Acknowledged: 10, Missing: 1}, ExitOK},
	} {
		r := &takt.Report{Verdict: takt.Valid, Counts: takt.Counts{Scheduled: 10, OK: 10}, Ledger: c.ledger}
		err := (&Requirements{Strict: c.strict}).Outcome(r, false)
		got := ExitOK
		if exit := (*ExitError)(nil); errors.As(err, &exit) {
			got = exit.Code
		} else if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("strict %v, %+v: exit code %d, want %d", c.strict, c.ledger, got, c.want)
		}
	}
}

// --prove with nothing to prove is a mistake on the command line; in a config file it serves all commands.
func TestProveNothing(t *testing.T) {
	for _, c := range []struct {
		assert, origin string
		faults         int
	}{
		{"", FromFlag, 1}, {"max<1s", FromFlag, 1}, {"rate>=99%", FromFlag, 1}, {"p99<1s", FromFlag, 0}, {"max<1s,errors<1%", FromFlag, 0},
		{"", FromFile, 0}, {"max<1s", FromEnvironment, 0},
	} {
		d := Requirements{asked: assert.Flags{Prove: true}}
		if c.assert != "" {
			d.asked.Texts = []string{c.assert}
		}
		env := Env{Settings: &Settings{Given: []Setting{{Name: "prove", Value: "true", Origin: Origin{Kind: c.origin}}}}}
		if faults := d.Validate(env); len(faults) != c.faults {
			t.Errorf("%+v: %v", c, faults)
		}
	}
}
