package record

import (
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Where nobody answers there is no response and no service time, neither in the report nor
// in its intervals nor in rows; send runs from due until an operation was written.
func TestOneWay(t *testing.T) {
	r := New(Config{Shards: 1, Window: time.Second, OneWay: true, Samples: 10})
	r.Sample(0, ended(10*ms, 10*ms, 11*ms, 13*ms), &takt.Result{})
	r.Sample(0, ended(20*ms, 20*ms, 20*ms, 21*ms), &takt.Result{Class: "x"})
	rows := r.TakeSamples(nil)
	iv := r.Swap(Tick{At: time.Second, Scheduled: 2})
	rep := r.Report(End{Scheduled: 2, Stop: time.Second})
	if send := rep.Latency[takt.LatencySend]; send.Count != 2 || send.Max < 2999 || send.Max > 3003 {
		t.Errorf("send: %+v, want two values up to 3 ms", send)
	}
	for _, name := range []string{takt.LatencyResponse, takt.LatencyResponseOK, takt.LatencyService} {
		if _, has := rep.Latency[name]; has {
			t.Errorf("the report has a %s time", name)
		}
	}
	for _, name := range []string{takt.LatencySendDelay, takt.LatencyScheduleLag} {
		if rep.Latency[name].Count != 2 {
			t.Errorf("%s: %+v", name, rep.Latency[name])
		}
	}
	empty := hist.New().Encode()
	if iv.HDR != empty || iv.ServiceHDR != empty || iv.ResponseMax != 0 || iv.OK != 1 || iv.Failed != 1 || iv.ScheduleLagP99 == 0 {
		t.Errorf("interval %+v", iv)
	}
	for _, row := range rows {
		if row.Done != takt.NoAnswer || row.Sent == takt.NotSent {
			t.Errorf("row %+v", row)
		}
	}
	if len(rows) != 2 {
		t.Errorf("%d rows", len(rows))
	}
}
