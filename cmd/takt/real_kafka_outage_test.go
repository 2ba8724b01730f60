//go:build real

package main

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The broker is killed and started again by --fault: the report has the outage, and the ledger accounts for
// every record that was acknowledged.
func TestRealKafkaRestart(t *testing.T) {
	b := kafka(t)
	b.produce(t, "-n", "1") // creates the topic
	r := b.run(t, "e2e", "--rate", "500/s", "--duration", "15s", "--drain", "240s", "--required-acks", "all", "--timeout", "30s",
		"--fault", "../../scripts/servers restart kafka@3s")
	t.Logf("%+v, outages %+v, ledger %+v, %v", r.Counts, r.Outages, r.Ledger, r.Extra)
	if len(r.Faults) != 1 || r.Faults[0].ExitCode == nil || *r.Faults[0].ExitCode != 0 {
		t.Fatalf("faults %+v", r.Faults)
	}
	if len(r.Outages) == 0 || r.Outages[0].To == nil || r.Outages[0].FirstSuccess == nil || r.Outages[0].From < r.Faults[0].From {
		t.Fatalf("outages %+v, faults %+v", r.Outages, r.Faults)
	}
	var failed uint64
	for _, o := range r.Outages {
		failed += o.Failed
		if o.Lost != nil && *o.Lost > 0 {
			t.Errorf("outage %+v", o)
		}
	}
	l := r.Ledger
	if failed != r.Counts.Failed || l.Acknowledged != r.Counts.OK || l.Missing > 0 || l.Stored == nil || r.Extra["lost"] != 0.0 {
		t.Fatalf("%d failed in outages, counts %+v, ledger %+v, %v", failed, r.Counts, l, r.Extra)
	}
	list, _ := b.read(t, int(r.Counts.OK)+1, kgo.ReadUncommitted())
	if list = runOf(list, r); uint64(len(list)) != *l.Stored || *l.Stored < l.Acknowledged {
		t.Errorf("ledger %+v with %d stored, and the topic has %d records of the run", l, *l.Stored, len(list))
	}
}
