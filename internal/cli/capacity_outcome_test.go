package cli

import (
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/capacity"
)

// Each ending has its exit code.
func TestCapacityOutcome(t *testing.T) {
	k := &capacityCommand{}
	for _, c := range []struct {
		of   capacity.Answer
		want int
	}{
		{capacity.Answer{Ended: capacity.EndFound, Sustainable: 5, Confidence: 0.95}, core.ExitOK},
		{capacity.Answer{Ended: capacity.EndBudget, Sustainable: 5, Confidence: 0.95}, core.ExitOK},
		{capacity.Answer{Ended: capacity.EndFutile, Sustainable: 5, Confidence: 0.95}, core.ExitOK},
		{capacity.Answer{Ended: capacity.EndBudget, Sustainable: 5}, core.ExitInconclusive},
		{capacity.Answer{Ended: capacity.EndBudget}, core.ExitInconclusive},
		{capacity.Answer{Ended: capacity.EndFutile, Sustainable: 5}, core.ExitInconclusive},
		{capacity.Answer{Ended: capacity.EndNone}, core.ExitAssertion},
		{capacity.Answer{Ended: capacity.EndInvalid, Sustainable: 5}, core.ExitInvalid},
	} {
		got := core.ExitOK
		if err := k.outcome(t.Context(), c.of, nil); err != nil {
			got = err.(*core.ExitError).Code
		}
		if got != c.want {
			t.Errorf("%s at %v: exit code %d, want %d", c.of.Ended, c.of.Sustainable, got, c.want)
		}
	}
}
