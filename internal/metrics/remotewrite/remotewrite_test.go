package remotewrite

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/test/metricstest"
)

// receiver records what an exporter sends, and answers with status.
type receiver struct {
	t      *testing.T
	status int
	header http.Header
	path   string
	got    []*dynamicpb.Message
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.header, r.path = req.Header, req.URL.Path
	packed, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	plain, err := snappy.Decode(nil, packed)
	if err != nil {
		r.t.Error(err)
	}
	m := dynamicpb.NewMessage(writeRequest(r.t))
	if err := proto.Unmarshal(plain, m); err != nil {
		r.t.Error(err)
	}
	if r.status == 204 {
		r.got = append(r.got, m)
	}
	w.WriteHeader(r.status)
}

// series returns the newest request, by the text of the labels.
func (r *receiver) series() map[string]series {
	all := map[string]series{}
	m := r.got[len(r.got)-1]
	fields := m.Descriptor().Fields()
	list := m.Get(fields.ByName("timeseries")).List()
	for i := range list.Len() {
		one := list.Get(i).Message()
		f := one.Descriptor().Fields()
		var names []string
		labels := one.Get(f.ByName("labels")).List()
		for j := range labels.Len() {
			l := labels.Get(j).Message()
			names = append(names, l.Get(l.Descriptor().Fields().ByName("name")).String()+"="+l.Get(l.Descriptor().Fields().ByName("value")).String())
		}
		if !slices.IsSorted(names) {
			r.t.Errorf("labels %v are not sorted", names)
		}
		s := series{}
		if samples := one.Get(f.ByName("samples")).List(); samples.Len() == 1 {
			sample := samples.Get(0).Message()
			s.value = sample.Get(sample.Descriptor().Fields().ByName("value")).Float()
		} else if one.Get(f.ByName("histograms")).List().Len() != 1 {
			r.t.Errorf("%v has neither a sample nor a histogram: %v", names, protojson.Format(one.Interface()))
		} else {
			s.histogram = &histogram{}
		}
		key := strings.Join(names, " ")
		if _, twice := all[key]; twice {
			r.t.Errorf("%s comes twice", key)
		}
		all[key] = s
	}
	return all
}

func start(t *testing.T) (*receiver, metrics.Exporter) {
	t.Helper()
	r := &receiver{t: t, status: 204}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	d, err := Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.Open(metrics.Run{Version: "1.2"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return r, e
}

func TestExport(t *testing.T) {
	r, e := start(t)
	if err := e.Export(t.Context(), metricstest.Batches(t, "")[0]); err != nil {
		t.Fatal(err)
	}
	if r.path != path || r.header.Get("Content-Encoding") != "snappy" || r.header.Get("Content-Type") != "application/x-protobuf" ||
		r.header.Get("X-Prometheus-Remote-Write-Version") != "0.1.0" || r.header.Get("User-Agent") != "takt/1.2" {
		t.Errorf("%s with %v", r.path, r.header)
	}
	got := r.series()
	if v := got["__name__=takt_operations_total outcome=ok run=01KB"].value; v != 1000 {
		t.Errorf("%v operations were ok: %v", v, got)
	}
	if h := got["__name__=takt_response_seconds run=01KB"]; h.histogram == nil {
		t.Errorf("no histogram of response times: %v", got)
	}
	// Prometheus refuses a request with a label twice, with a name such as a.b, or without a value.
	if _, ok := got["__name__=takt_run_info kind=http label_9=x\\ label_a_b=1 label_a_b_2=2 label_hostile="+metricstest.Hostile+" label_revision=abc run=01KB takt_version=1.2.3 target=http://127.0.0.1:8080/"]; !ok {
		t.Errorf("no such info: %v", got)
	}
}

// Gauges of a second end with the run; what the run counted stays.
func TestSeriesEnd(t *testing.T) {
	r, e := start(t)
	batches := metricstest.Batches(t, "")
	b, last := batches[1], batches[2]
	if err := e.Export(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	r.status = 503
	if err := e.Export(t.Context(), last); err == nil {
		t.Fatal("no error")
	}
	r.status = 204
	if err := e.Export(t.Context(), last); err != nil { // again: the series end once more
		t.Fatal(err)
	}
	got := r.series()
	if v, ok := got["__name__=takt_in_flight run=01KB"]; !ok || math.Float64bits(v.value) != math.Float64bits(stale) {
		t.Errorf("in flight at the end: %v", v)
	}
	if v := got["__name__=takt_operations_total outcome=ok run=01KB"].value; v != 2000 {
		t.Errorf("%v operations at the end", v)
	}
	if v := got["__name__=takt_valid run=01KB"].value; v != 1 {
		t.Errorf("valid: %v", v)
	}
	if at := last.Instant().Sub(b.Instant()); at <= 0 {
		t.Errorf("the last batch is %v after the one before", at)
	}
}
