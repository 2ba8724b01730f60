package otlp

import (
	"math"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/test/metricstest"
)

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

func attributesOf(list []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		all[a.Key] = a.Value.GetStringValue()
	}
	return all
}

func TestRequestIsOfTheProtocol(t *testing.T) {
	b := metricstest.Batches(t, "1/2")[0]
	all, got := read(t, b)
	if s := all.ScopeMetrics[0].Scope; s.Name != "takt" || s.Version != b.Run.Version {
		t.Errorf("scope %v", s)
	}
	if resource := attributesOf(all.Resource.Attributes); resource["service.name"] != "takt" || resource["service.version"] != b.Run.Version || resource["service.instance.id"] != b.Run.ID+"/1/2" {
		t.Errorf("resource %v", resource)
	}

	scheduled := got["takt.operations_scheduled"].GetSum()
	if p := scheduled.DataPoints[0]; scheduled.AggregationTemporality != wire.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE ||
		!scheduled.IsMonotonic || p.GetAsDouble() != 1002 || p.StartTimeUnixNano != uint64(b.Started.UnixNano()) || p.TimeUnixNano != uint64(b.To.UnixNano()) {
		t.Errorf("scheduled operations: %v", scheduled)
	}
	outcomes := map[string]float64{}
	for _, p := range got["takt.operations"].GetSum().DataPoints {
		if a := attributesOf(p.Attributes); len(a) != 3 || a["run"] != b.Run.ID || a["shard"] != "1/2" {
			t.Errorf("attributes %v", a)
		} else {
			outcomes[a["outcome"]] = p.GetAsDouble()
		}
	}
	if outcomes["ok"] != 1000 || outcomes["failed"] != 2 || outcomes["dropped"] != 0 {
		t.Errorf("outcomes %v", outcomes)
	}
	if g := got["takt.in_flight"].GetGauge(); g.DataPoints[0].GetAsDouble() != 7 {
		t.Errorf("in flight: %v", g)
	}
	p := got["takt.run_info"].GetGauge().DataPoints[0]
	if a := attributesOf(p.Attributes); p.GetAsDouble() != 1 || a["kind"] != "http" || a["label_hostile"] != metricstest.Hostile || a["label_a.b"] != "1" || a["label_a_b"] != "2" {
		t.Errorf("info: %v", a)
	}
}

func TestHistogramHasTheReportsPercentiles(t *testing.T) {
	b := metricstest.Batches(t, "")[1] // 2000 operations of 1 ms, and 4 of 20 ms
	_, got := read(t, b)
	m := got["takt.response"]
	h := m.GetExponentialHistogram()
	if m.Unit != "s" || h.AggregationTemporality != wire.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		t.Fatalf("response times: %v", m)
	}
	p := h.DataPoints[0]
	if p.Count != 2004 || math.Abs(p.GetSum()-2.08) > 0.002 || p.ZeroCount != 0 || math.Abs(p.GetMax()-0.02) > 0.0001 {
		t.Errorf("count %d, sum %v, zeros %d, max %v", p.Count, p.GetSum(), p.ZeroCount, p.GetMax())
	}
	base := math.Exp2(math.Exp2(-float64(p.Scale)))
	for _, q := range []float64{0.5, 0.99, 0.999, 1} {
		rank, below, i := uint64(math.Ceil(q*2004)), uint64(0), -1
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
	b := metricstest.Batches(t, "")[2]
	_, got := read(t, b)
	if p := got["takt.valid"].GetGauge().DataPoints[0]; p.GetAsDouble() != 1 || p.TimeUnixNano != uint64(b.To.Add(time.Millisecond).UnixNano()) {
		t.Errorf("valid: %v", p)
	}
	if got["takt.in_flight"] != nil {
		t.Error("the last batch says how many operations are in flight")
	}
}
