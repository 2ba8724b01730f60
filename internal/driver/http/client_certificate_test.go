package http_test

import (
	"crypto/tls"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

// way is a client and a mode over TLS.
type way struct {
	client, mode string
	h2           bool
}

var (
	ways   = []way{{"own", "loop", false}, {"own", "worker", false}, {"net", "worker", false}}
	waysH2 = append(ways[:3:3], way{"own", "loop", true}, way{"net", "worker", true})
)

// options are those of a run over w to a server of httptest.
func (w way) options() *http.Options {
	o := http.New()
	o.Client, o.HTTP2, o.TLS.Insecure = w.client, w.h2, true
	return o
}

// secureServer is a server over TLS.
func secureServer(t *testing.T, conf *tls.Config) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { _, _ = io.WriteString(w, "ok") }))
	s.TLS, s.Config.ErrorLog, s.EnableHTTP2 = conf, quiet(), true
	s.Listener = patientListener{s.Listener}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// patientListener accepts connections whose end the client always sees.
type patientListener struct{ net.Listener }

func (l patientListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return patientConn{c.(*net.TCPConn)}, nil
}

// patientConn waits with its close for that of the client. A connection that is closed with something unread
// is reset, and the client may lose the last words: on a busy machine a request was there before TLS had
// refused the certificate.
type patientConn struct{ *net.TCPConn }

func (c patientConn) Close() error {
	_ = c.CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.Copy(io.Discard, c.TCPConn)
	return c.TCPConn.Close()
}

func warning(r *takt.Report, code takt.WarningCode) string {
	if i := slices.IndexFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == code }); i >= 0 {
		return r.Warnings[i].Message
	}
	return ""
}

// A client certificate works with each client, mode and version. Without one that the server
// accepts, operations fail because of TLS, and a warning says what to do.
func TestClientCertificate(t *testing.T) {
	cert, key, pool := authority(t, "known")
	stranger, strangersKey, _ := authority(t, "stranger")
	forged, forgedKey, _ := authority(t, "known")
	for name, c := range map[string]struct {
		auth      tls.ClientAuthType
		cert, key string
		want      string // in the warning; "": all is well
	}{
		"demanded":                {tls.RequireAndVerifyClientCert, cert, key, ""},
		"missing":                 {tls.RequireAndVerifyClientCert, "", "", "give it with --cert FILE and its key with --key FILE"},
		"of another authority":    {tls.RequireAndVerifyClientCert, stranger, strangersKey, "does not accept that of --cert: "},
		"forged":                  {tls.RequireAndVerifyClientCert, forged, forgedKey, "refused the client certificate of --cert"},
		"not demanded, not given": {tls.VerifyClientCertIfGiven, "", "", ""},
		"not demanded, unknown":   {tls.VerifyClientCertIfGiven, stranger, strangersKey, ""},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			s := secureServer(t, &tls.Config{ClientAuth: c.auth, ClientCAs: pool, MinVersion: version, MaxVersion: version})
			for _, way := range waysH2 {
				o := way.options()
				o.TLS.Cert, o.TLS.Key = c.cert, c.key
				p := drivertest.Plan(t, "http", o, func(e *engine.Options) { e.Engine, e.Requests, e.Connections = way.mode, 6, 2 }, s.URL)
				r, err := engine.Run(t.Context(), p)
				switch {
				case c.want != "" && version == tls.VersionTLS12: // the handshake before the run fails
					if err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
						t.Errorf("%s, %v: %v", name, way, err)
					}
				case err != nil:
					t.Errorf("%s, %v: %v", name, way, err)
				case c.want == "":
					if r.Counts.OK != 6 || r.Warned("client_certificate") {
						t.Errorf("%s, %v: %+v, %+v %v", name, way, r.Counts, r.Errors, r.Warnings)
					}
				case r.Counts.Failed != 6 || r.Errors[0].Class != "tls" || !strings.Contains(warning(r, "client_certificate"), c.want):
					t.Errorf("%s, %v: %+v, %+v; %v", name, way, r.Counts, r.Errors, r.Warnings)
				}
			}
		}
	}
}
