package http_test

import (
	"crypto/tls"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
)

// The report says what was agreed on. A session is resumed only where that is asked for, in each
// client and mode and version.
func TestHandshakes(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Connection", "close")
			fmt.Fprint(w, "ok")
		}))
		s.TLS = &tls.Config{MaxVersion: version}
		s.StartTLS()
		t.Cleanup(s.Close)
		for _, c := range []struct{ client, mode string }{{"own", "loop"}, {"own", "worker"}, {"net", "worker"}} {
			for _, resume := range []bool{false, true} {
				o := http.New()
				o.Client, o.TLS.Insecure, o.TLS.Resume = c.client, true, resume
				r := drivertest.Make(t, drivertest.Plan(t, "http", o, func(e *engine.Options) {
					e.Engine, e.Requests, e.Connections = c.mode, 10, 1
				}, s.URL))
				all, _ := r.Extra["tls_handshakes"].(uint64)
				resumed, _ := r.Extra["tls_resumed"].(uint64)
				agreed := fmt.Sprint(r.Extra["tls"])
				if r.Counts.OK != 10 || all < 10 || all > 11 || !strings.HasPrefix(agreed, tls.VersionName(version)+" TLS_") {
					t.Errorf("%+v: %+v, %d handshakes, %s; %v", c, r.Counts, all, agreed, r.Errors)
				}
				if resume && resumed < 8 || !resume && resumed != 0 {
					t.Errorf("%+v, %s, asked for %v: %d of %d resumed", c, agreed, resume, resumed, all)
				}
			}
		}
	}
}

// A target below the lowest version is refused before the run.
func TestLowestVersion(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	s.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	o := http.New()
	o.TLS.Insecure, o.TLS.Min = true, "1.3"
	p := drivertest.Plan(t, "http", o, func(e *engine.Options) { e.Requests = 1 }, s.URL)
	if _, err := engine.Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("%v", err)
	}
}
