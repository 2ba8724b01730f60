package timeline

import (
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Several readers in goroutines of their own share what the first decoded.
func TestLentIsDecodedOnce(t *testing.T) {
	response, service := hist.New(), hist.New()
	response.RecordN(3*time.Millisecond, 7)
	service.RecordN(2*time.Millisecond, 5)
	iv := takt.Interval{HDR: response.Encode(), ServiceHDR: service.Encode()}
	lent := Lend(&iv)
	var all sync.WaitGroup
	got := make([]Histograms, 4)
	for i := range got {
		all.Go(func() {
			h, err := lent.Of(&iv)
			if err != nil {
				t.Error(err)
			}
			got[i] = h
		})
	}
	all.Wait()
	for _, h := range got {
		if h.Response.Count() != 7 || h.Service.Count() != 5 || h.Response.Max() != response.Max() || h.Service.Max() != service.Max() {
			t.Fatalf("%d response times up to %v, %d service times up to %v", h.Response.Count(), h.Response.Max(), h.Service.Count(), h.Service.Max())
		}
		if &h.Response.buckets[0] != &got[0].Response.buckets[0] || &h.Service.buckets[0] != &got[0].Service.buckets[0] {
			t.Error("a reader has histograms of its own")
		}
	}
}

// Without a loan each reader decodes, and a text that is no histogram is an error either way.
func TestNotLent(t *testing.T) {
	h := hist.New()
	h.Record(time.Millisecond)
	if got, err := (Lent)(nil).Of(&takt.Interval{HDR: h.Encode()}); err != nil || got.Response.Count() != 1 || got.Service.Count() != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, iv := range []takt.Interval{{HDR: "x"}, {ServiceHDR: "x"}} {
		if _, err := Lend(&iv).Of(&iv); err == nil {
			t.Errorf("%+v was decoded", iv)
		}
	}
}
