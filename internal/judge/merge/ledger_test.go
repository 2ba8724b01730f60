package merge

import (
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// Shards send to the same queues: what these lost counts once, what each shard misses adds up, and
// nobody knows what the queues gained by one shard.
func TestLedgerOfShards(t *testing.T) {
	five := uint64(5)
	a := takt.Ledger{Source: "queues", Acknowledged: 10, Uncertain: 1, Stored: &five, Delivered: &five, Missing: 2, Expired: 3}
	b := takt.Ledger{Source: "queues", Acknowledged: 20, Missing: 4, Expired: 2, Dead: 1}
	want := takt.Ledger{Source: "queues", Acknowledged: 30, Uncertain: 1, Missing: 6, Expired: 3, Dead: 1}
	if got := a.Plus(b); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if a.Plus(takt.Ledger{}) != a || (takt.Ledger{}).Plus(b) != b {
		t.Error("a shard without a ledger changes that of the other one")
	}
}
