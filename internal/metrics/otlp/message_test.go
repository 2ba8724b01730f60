package otlp

import (
	"math"
	"testing"
	"time"

	wire "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

var started = time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC)

// batch is an interval with n response times of 1 ms, 2 ms, …
func batch(t *testing.T, n int) *metrics.Batch {
	t.Helper()
	h := hist.New()
	for i := range n {
		h.Record(time.Duration(i+1) * time.Millisecond)
	}
	response, err := metrics.Decode(new(hist.Decoder), h.Encode())
	if err != nil {
		t.Fatal(err)
	}
	figures := metrics.Figures{Scheduled: uint64(n) + 3, OK: uint64(n), Failed: 2, Errors: map[string]uint64{"status-500": 2}, Response: response}
	return &metrics.Batch{
		Run:     &metrics.Run{ID: "R1", Kind: "http", Target: "http://a.test/\xff", Labels: map[string]string{"revision": "abc"}, Version: "1.2"},
		Started: started, From: started, To: started.Add(time.Second), Last: figures, Total: figures, InFlight: 7, ScheduleLagP99: time.Millisecond,
	}
}

// read decodes a request with OpenTelemetry's own types. The service's request has the same field as
// MetricsData, and would need gRPC.
func read(t *testing.T, b *metrics.Batch) (*wire.ResourceMetrics, map[string]*wire.Metric) {
	t.Helper()
	var data wire.MetricsData
	if err := proto.Unmarshal(request(b), &data); err != nil {
		t.Fatal(err)
	}
	if len(data.ResourceMetrics) != 1 || len(data.ResourceMetrics[0].ScopeMetrics) != 1 {
		t.Fatalf("the request is %v", &data)
	}
	all := data.ResourceMetrics[0]
	byName := map[string]*wire.Metric{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if u := m.ProtoReflect().GetUnknown(); byName[m.Name] != nil || m.Data == nil || len(u) > 0 {
			t.Errorf("metric %q comes twice, has no data, or unknown fields % x", m.Name, u)
		}
		byName[m.Name] = m
	}
	return all, byName
}

func TestRequestIsOfTheProtocol(t *testing.T) {
	b := batch(t, 1000)
	all, got := read(t, b)
	if s := all.ScopeMetrics[0].Scope; s.Name != "takt" || s.Version != "1.2" {
		t.Errorf("scope %v", s)
	}
	resource := map[string]string{}
	for _, a := range all.Resource.Attributes {
		resource[a.Key] = a.Value.GetStringValue()
	}
	if resource["service.name"] != "takt" || resource["service.version"] != "1.2" || resource["service.instance.id"] != "R1" {
		t.Errorf("resource %v", resource)
	}

	scheduled := got["takt.operations_scheduled"].GetSum()
	if p := scheduled.DataPoints[0]; scheduled.AggregationTemporality != wire.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE ||
		!scheduled.IsMonotonic || p.GetAsDouble() != 1003 || p.StartTimeUnixNano != uint64(started.UnixNano()) || p.TimeUnixNano != uint64(b.To.UnixNano()) {
		t.Errorf("scheduled operations: %v", scheduled)
	}
	outcomes := map[string]float64{}
	for _, p := range got["takt.operations"].GetSum().DataPoints {
		if p.Attributes[0].Key != "run" || p.Attributes[0].Value.GetStringValue() != "R1" || p.Attributes[1].Key != "outcome" {
			t.Errorf("attributes %v", p.Attributes)
		}
		outcomes[p.Attributes[1].Value.GetStringValue()] = p.GetAsDouble()
	}
	if outcomes["ok"] != 1000 || outcomes["failed"] != 2 || outcomes["dropped"] != 0 {
		t.Errorf("outcomes %v", outcomes)
	}
	if g := got["takt.in_flight"].GetGauge(); g.DataPoints[0].GetAsDouble() != 7 {
		t.Errorf("in flight: %v", g)
	}
	if m := got["takt.run_info"]; m.GetGauge().DataPoints[0].GetAsDouble() != 1 {
		t.Errorf("info: %v", m)
	}
}

func TestHistogramHasTheReportsPercentiles(t *testing.T) {
	b := batch(t, 1000)
	_, got := read(t, b)
	m := got["takt.response"]
	h := m.GetExponentialHistogram()
	if m.Unit != "s" || h.AggregationTemporality != wire.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		t.Fatalf("response times: %v", m)
	}
	p := h.DataPoints[0]
	if p.Count != 1000 || math.Abs(p.GetSum()-500.5) > 0.5 || p.ZeroCount != 0 || math.Abs(p.GetMax()-1) > 0.001 {
		t.Errorf("count %d, sum %v, zeros %d, max %v", p.Count, p.GetSum(), p.ZeroCount, p.GetMax())
	}
	base := math.Exp2(math.Exp2(-float64(p.Scale)))
	for _, q := range []float64{0.5, 0.9, 0.99, 1} {
		rank, below, i := uint64(q*1000), uint64(0), -1
		for below < rank {
			i++
			below += p.Positive.BucketCounts[i]
		}
		from := math.Pow(base, float64(int(p.Positive.Offset)+i))
		if want := b.Total.Response.Quantile(q).Seconds(); want <= from*(1-1e-9) || want > from*base*(1+1e-9) {
			t.Errorf("quantile %v is %v s, and its bucket (%v, %v]", q, want, from, from*base)
		}
	}
}

// A receiver refuses two values for one instant, and the last batch ends with the newest interval.
func TestLastBatchHasAnInstantOfItsOwn(t *testing.T) {
	b := batch(t, 10)
	b.Over, b.Verdict, b.Total.Unfinished = true, takt.Valid, 1
	_, got := read(t, b)
	if p := got["takt.valid"].GetGauge().DataPoints[0]; p.GetAsDouble() != 1 || p.TimeUnixNano != uint64(b.To.Add(time.Millisecond).UnixNano()) {
		t.Errorf("valid: %v", p)
	}
	if got["takt.in_flight"] != nil {
		t.Error("the last batch says how many operations are in flight")
	}
}
