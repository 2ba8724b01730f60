//go:build real

package apmserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/test/drivertest"
)

// TestRealServer runs trials of apm-servers that somebody else has built: TAKT_APM_SERVER lists their
// clones. Every accepted event must be a document by the cluster's own count, in indices and in data
// streams.
func TestRealServer(t *testing.T) {
	clones := filepath.SplitList(os.Getenv("TAKT_APM_SERVER"))
	if len(clones) == 0 {
		t.Skip("TAKT_APM_SERVER lists no clone of apm-server")
	}
	d := realDocuments(t)
	// The clusters of tests lack the types and processors of Elastic's templates and pipelines; 6.8 needs
	// system calls that its filter refuses.
	plain := []string{
		"-E", "seccomp.enabled=false", "-E", "setup.template.enabled=false", "-E", "apm-server.ilm.enabled=false",
		"-E", "apm-server.register.ingest.pipeline.enabled=false", "-E", "output.elasticsearch.pipeline=_none",
		"-E", "apm-server.data_streams.wait_for_integration=false", "-E", "queue.mem.events=200000",
	}
	for _, clone := range clones {
		// 7 has the choice; 6 writes indices, 8 and later data streams.
		for _, streams := range []string{"false", "true"} {
			flags := []string{"-E", "apm-server.data_streams.enabled=" + streams}
			t.Run(filepath.Base(clone)+"/streams="+streams, func(t *testing.T) {
				c, err := NewCheckout(clone, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Switch(t.Context(), Switch{Branch: "HEAD"}, t.Output()); err != nil {
					t.Fatal(err)
				}
				before := arrived(t, d.Output().URL)
				o := Options{Log: process.NewLog(), Flags: slices.Concat(plain, flags), Patience: patience}
				trial := Trial{Server: c, Documents: d, Load: closedLoop(10, 4, 2, time.Second), Options: o, Out: t.Output(), Least: time.Second}
				r, err := trial.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := Block(t.Output(), r, strings.Fields("1s 10 4 1 2")); err != nil {
					t.Fatal(err)
				}
				due, there := 50*float64(r.Counts.OK), float64(arrived(t, d.Output().URL)-before)
				t.Logf("%s: %.0f accepted, %.0f documents", r.Labels["server_version"], due, there)
				if due == 0 || there != due || r.Extra[extraDocuments] != due || r.Counts.Failed > 0 || len(drivertest.Doubts(r)) > 0 {
					t.Errorf("%v of %v accepted events are documents, takt says %v; %v %v", there, due, r.Extra[extraDocuments], r.Counts, r.Warnings)
				}
			})
		}
	}
	if _, _, err := d.Delete(t.Context()); err != nil {
		t.Error(err)
	}
}

// arrived is the cluster's count of the load's transactions and spans, asked without takt's client.
func arrived(t *testing.T, cluster string) (n int64) {
	t.Helper()
	const all = "apm-*,traces-apm*"
	q := `(service.name:"takt-test" OR context.service.name:"takt-test") AND (_exists_:transaction.duration.us OR _exists_:span.duration.us)`
	for _, path := range []string{"/_refresh", "/_count?q=" + url.QueryEscape(q)} {
		answer, err := http.Get(fmt.Sprintf("%s/%s%s", cluster, all, path))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var said struct{ Count int64 }
		if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status, err)
		}
		n = said.Count
	}
	return n
}
