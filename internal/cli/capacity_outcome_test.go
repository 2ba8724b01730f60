package cli

import (
	"testing"

	"github.com/taktload/takt/internal/judge/capacity"
)

// Each ending has its exit code.
func TestCapacityOutcome(t *testing.T) {
	k := &capacityCommand{}
	for _, c := range []struct {
		of   capacity.Answer
		want int
	}{
		{capacity.Answer{Ended: capacity.EndFound, Sustainable: 5, Confidence: 0.95}, exitOK},
		{capacity.Answer{Ended: capacity.EndBudget, Sustainable: 5, Confidence: 0.95}, exitOK},
		{capacity.Answer{Ended: capacity.EndFutile, Sustainable: 5, Confidence: 0.95}, exitOK},
		{capacity.Answer{Ended: capacity.EndBudget, Sustainable: 5}, exitInconclusive},
		{capacity.Answer{Ended: capacity.EndBudget}, exitInconclusive},
		{capacity.Answer{Ended: capacity.EndFutile, Sustainable: 5}, exitInconclusive},
		{capacity.Answer{Ended: capacity.EndNone}, exitAssertion},
		{capacity.Answer{Ended: capacity.EndInvalid, Sustainable: 5}, exitInvalid},
	} {
		got := exitOK
		if err := k.outcome(t.Context(), c.of, nil); err != nil {
			got = err.(*exitError).code
		}
		if got != c.want {
			t.Errorf("%s at %v: exit code %d, want %d", c.of.Ended, c.of.Sustainable, got, c.want)
		}
	}
}
