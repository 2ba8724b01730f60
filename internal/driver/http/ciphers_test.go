package http_test

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
)

// The suite and the highest version are those of the flags with each client and mode. Against a
// server that agrees on TLS 1.3 the suites have no effect, and a warning says so.
func TestCipherSuites(t *testing.T) {
	s := secureServer(t, &tls.Config{})
	const suite = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
	for _, way := range waysH2 {
		for _, c := range []struct {
			highest, want string
			warned        bool
		}{{"1.2", "TLS 1.2 " + suite, false}, {"1.3", "TLS 1.3 ", true}} {
			o := way.options()
			o.TLS.Max = c.highest
			if err := o.TLS.Ciphers.Set(suite); err != nil {
				t.Fatal(err)
			}
			r := drivertest.Make(t, drivertest.Plan(t, "http", o, func(e *engine.Options) { e.Engine, e.Requests, e.Connections = way.mode, 4, 1 }, s.URL))
			agreed, _ := r.Extra["tls"].(string)
			if r.Counts.OK != 4 || !strings.HasPrefix(agreed, c.want) || r.Warned("tls_ciphers") != c.warned {
				t.Errorf("%v, up to %s: %+v, %s, %v", way, c.highest, r.Counts, agreed, r.Warnings)
			}
		}
	}
}

// Flags that exclude each other are refused before the run.
func TestTLSFlagsExclude(t *testing.T) {
	for _, c := range []struct{ lowest, highest, suites, want string }{
		{"1.3", "1.2", "", "--tls-min 1.3 is above --tls-max 1.2"},
		{"1.3", "1.3", "AES128-SHA", "does not let a client choose the suites of TLS 1.3"},
		{"1.2", "1.2", "AES128-SHA", ""},
		{"1.3", "1.3", "", ""},
	} {
		o := http.New()
		o.TLS.Min, o.TLS.Max = c.lowest, c.highest
		if c.suites != "" {
			if err := o.TLS.Ciphers.Set(c.suites); err != nil {
				t.Fatal(err)
			}
		}
		faults := o.Validate([]string{"https://127.0.0.1:1/"})
		if c.want == "" && faults != nil || c.want != "" && (len(faults) != 1 || !strings.Contains(faults[0].Error(), c.want)) {
			t.Errorf("%+v: %v", c, faults)
		}
	}
}
