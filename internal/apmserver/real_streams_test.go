//go:build real

package apmserver

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Documents as newer apm-servers write them, without processor.event, in a cluster that has no
// templates for them.
func TestRealStreams(t *testing.T) {
	d := realDocuments(t)
	before, err := d.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var bulk strings.Builder
	for _, doc := range []struct{ stream, dataset string }{
		{"traces-apm-default", "apm"},
		{"traces-apm.rum-default", "apm.rum"},
		{"logs-apm.error-default", "apm.error"},
		{"traces-apm.sampled-default", "apm.sampled"}, // not events: what tail sampling keeps, and logs
		{"logs-apm.app.shop-default", "apm.app.shop"},
	} {
		kind, _, _ := strings.Cut(doc.stream, "-")
		fmt.Fprintf(&bulk, `{"create":{"_index":%q}}`+"\n"+`{"@timestamp":"2026-01-31T12:00:00Z","data_stream":{"type":%q,"dataset":%q,"namespace":"default"},"service":{"name":"shop"}}`+"\n", doc.stream, kind, doc.dataset)
	}
	answer, err := http.Post(d.Output().URL+"/_bulk", "application/x-ndjson", strings.NewReader(bulk.String()))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if n, err := d.Count(t.Context()); n != before+3 || err != nil {
		t.Errorf("%d events, %v; want %d", n-before, err, 3)
	}
	if n, _, err := d.Delete(t.Context()); n != before+3 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	if n, err := d.Count(t.Context()); n != 0 || err != nil {
		t.Errorf("%d events after the deletion, %v", n, err)
	}
}
