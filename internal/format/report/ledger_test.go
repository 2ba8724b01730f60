package report

import (
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// The line names what the broker says, and nothing that is zero or unknown.
func TestLedgerLine(t *testing.T) {
	five, nine := uint64(5), uint64(9)
	for _, c := range []struct {
		l    takt.Ledger
		want string
	}{
		{takt.Ledger{}, ""},
		{takt.Ledger{Source: "ends", Acknowledged: 9, Stored: &nine}, "9 acknowledged, 9 stored (ends)"},
		{takt.Ledger{Source: "ends", Acknowledged: 9, Uncertain: 1, Missing: 2}, "9 acknowledged, 1 uncertain, stored unknown, 2 missing (ends)"},
		{takt.Ledger{Source: "queues", Acknowledged: 8, Stored: &nine, Delivered: &five, Surplus: 1, Expired: 3, Dead: 1},
			"8 acknowledged, 9 stored, 5 delivered, 1 surplus, 3 expired, 1 dead (queues)"},
	} {
		if got := ledger(c.l); got != c.want {
			t.Errorf("%+v: %q, want %q", c.l, got, c.want)
		}
	}
}
