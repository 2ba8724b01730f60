package otlp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	wire "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/post"
	"github.com/taktload/takt/internal/test/metricstest"
)

func TestExport(t *testing.T) {
	var partial post.Message
	partial.Nested(1, func(m *post.Message) {
		m.Varint(1, 3)
		m.Text(2, "too \x1b[31mold")
	})
	for name, c := range map[string]struct {
		status int
		answer string
		want   string // part of the error; "": none
	}{
		"empty":       {200, "", ""},
		"warning":     {200, "\x0a\x03\x12\x01x", ""}, // a text without rejected values
		"partial":     {200, string(partial), "rejected 3 values: \"too \\x1b[31mold\""},
		"not OTLP":    {200, "<html>\xff\xff\xff", ""},
		"half a text": {200, string(partial[:9]), ""},
		"refused":     {400, "bad", "400 Bad Request: bad"},
		"busy":        {503, "", "503"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				var data wire.MetricsData
				if err != nil || proto.Unmarshal(body, &data) != nil || r.URL.Path != path || r.Header.Get("Content-Type") != "application/x-protobuf" {
					t.Errorf("%s %v: %v", r.URL.Path, r.Header, err)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
			}))
			defer server.Close()
			d, err := Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			e, err := d.Open(metrics.Run{})
			if err != nil {
				t.Fatal(err)
			}
			err = e.Export(t.Context(), metricstest.Batches(t, "")[0])
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err := e.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPathOfTheURL(t *testing.T) {
	for where, want := range map[string]string{"http://h:4318": "/v1/metrics", "http://h:4318/": "/v1/metrics", "http://h/otlp/v1/metrics?a=b": "/otlp/v1/metrics?a=b"} {
		a, err := post.Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.At(path); !strings.HasSuffix(got, want) || strings.Contains(got, "//v1") {
			t.Errorf("%s: %s", where, got)
		}
	}
}
