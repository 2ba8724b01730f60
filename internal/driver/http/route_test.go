package http_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s:1") // a colon is no port
	e := newEcho(t, nil)
	e.onSocket(t, path)
	both(t, func(t *testing.T, client string) {
		o := options(client)
		o.UnixSocket = path
		clean(t, load(t, o, 2, "http://service.example/x"), 2)
		if got := e.requests(); got[0].Host != "service.example" || got[0].URI != "/x" {
			t.Errorf("%+v", got)
		}
	})
}

func TestConnectTo(t *testing.T) {
	e := startEcho(t, nil)
	here := strings.TrimPrefix(e.URL, "http://")
	both(t, func(t *testing.T, client string) {
		for _, rule := range []string{"service.example:80:" + here, "::" + here, ":80:" + here} {
			o := options(client)
			for _, r := range []string{"other.example:80:127.0.0.1:1", rule} {
				if err := o.ConnectTo.Set(r); err != nil {
					t.Fatal(err)
				}
			}
			clean(t, load(t, o, 1, "http://service.example/"), 1)
			if got := e.requests(); got[0].Host != "service.example" {
				t.Errorf("%s: %+v", rule, got)
			}
		}
	})
	var c http.ConnectTo
	if err := c.Set("[::1]:80:[::2]:81"); err != nil || c.String() != "[::1]:80:[::2]:81" {
		t.Error(c.String(), err)
	}
	if err := c.Set("a:b"); err == nil {
		t.Error("two parts were accepted")
	}
}

// authority makes the certificate of a client, signed by itself.
func authority(t *testing.T, name string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	encode := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return write(t, "cert.pem", encode("CERTIFICATE", der)), write(t, "key.pem", encode("PRIVATE KEY", keyDER)), pool
}

// startTLS serves e over TLS and returns the file of its authority.
func (e *echo) startTLS(t *testing.T) (cacert string) {
	e.Config.ErrorLog = quiet() // the probe connects without a handshake
	e.StartTLS()
	return write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw})))
}

// HTTP/2 over TLS and without, over as many connections as were asked for.
func TestHTTP2(t *testing.T) {
	secure, plain := newEcho(t, slow), newEcho(t, slow)
	secure.EnableHTTP2 = true
	cacert := secure.startTLS(t)
	plain.Config.Protocols = new(nethttp.Protocols)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	both(t, func(t *testing.T, client string) {
		for name, e := range map[string]*echo{"h2": secure, "h2c": plain} {
			for _, conns := range []int{1, 3} {
				o := options(client)
				o.HTTP2, o.HTTP2Connections, o.HTTP2Streams, o.TLS.CACert = true, conns, 6/conns, cacert
				clean(t, loadWith(t, o, engine.Options{Requests: 30}, e.URL), 30)
				got := e.requests()
				if n := connections(got); n != conns || got[0].Proto != "HTTP/2.0" {
					t.Errorf("%s: %d connections of %s, want %d", name, n, got[0].Proto, conns)
				}
				if v := o.Variables()["protocol"]; v != name {
					t.Errorf("the protocol is %v, want %s", v, name)
				}
			}
		}
	})
}

// slow keeps six requests open at once.
func slow(w nethttp.ResponseWriter, _ *nethttp.Request) {
	time.Sleep(5 * time.Millisecond)
	_, _ = io.WriteString(w, "hello")
}

// A server without HTTP/2 is not silently asked in another protocol.
func TestHTTP2Refused(t *testing.T) {
	secure, plain, mute := newEcho(t, nil), startEcho(t, nil), newEcho(t, nil)
	mute.TLS = &tls.Config{NextProtos: []string{"none"}} // httptest would name http/1.1
	for name, e := range map[string]*echo{"TLS": secure, "plain": plain, "another protocol": mute} {
		if e != plain {
			e.startTLS(t)
			both(t, func(t *testing.T, client string) {
				o := options(client)
				o.HTTP2, o.TLS.Insecure = true, true
				_, err := engine.Run(t.Context(), plan(t, o, engine.Options{Requests: 1}, e.URL))
				if err == nil || !strings.HasSuffix(err.Error(), "; leave --h2 out") {
					t.Errorf("%s: %v", name, err)
				}
			})
			continue
		}
		o := options("auto")
		o.HTTP2 = true
		r := load(t, o, 20, e.URL)
		// One that finds the connection already given up says only that; of 20 not all do.
		told := slices.ContainsFunc(r.Errors, func(e takt.ErrorClass) bool {
			return e.Class == "protocol" && strings.HasSuffix(e.Sample, " leave --h2 out")
		})
		if r.Counts.OK != 0 || !told {
			t.Errorf("%s: %+v %+v", name, r.Counts, r.Errors)
		}
	}
}

// The protocol of a list follows from its URLs.
func TestProtocolOfTargets(t *testing.T) {
	for scheme, want := range map[string]string{"http": "h2c", "https": "h2"} {
		o := options("auto")
		o.HTTP2, o.Targets = true, write(t, "targets", "GET "+scheme+"://x/\n")
		if faults := o.Validate(nil); faults != nil || o.Variables()["protocol"] != want {
			t.Errorf("%v, %v, want %s", faults, o.Variables()["protocol"], want)
		}
	}
	o := options("auto")
	o.HTTP2, o.Targets = true, "-"
	if faults := o.Validate(nil); faults != nil || o.Variables()["protocol"] != "http/2" {
		t.Errorf("%v, %v", faults, o.Variables()["protocol"])
	}
}

// A proxy that is not there is not taken for the target.
func TestProxyDown(t *testing.T) {
	proxy := strings.TrimPrefix(closedPort(t), "http://")
	for _, url := range []string{"http://service.example/", "https://service.example/"} {
		both(t, func(t *testing.T, client string) {
			o := options(client)
			if err := o.Proxy.Set(proxy); err != nil {
				t.Fatal(err)
			}
			_, err := engine.Run(t.Context(), plan(t, o, engine.Options{Requests: 1}, url))
			if err == nil || !strings.HasPrefix(err.Error(), "cannot reach the target: the proxy "+proxy+": ") || !strings.HasSuffix(err.Error(), "; check --proxy") {
				t.Errorf("%s: %v", url, err)
			}
		})
	}
	both(t, func(t *testing.T, client string) {
		_, err := engine.Run(t.Context(), plan(t, options(client), engine.Options{Requests: 1}, "http://"+proxy))
		if err == nil || strings.Contains(err.Error(), "proxy") {
			t.Errorf("without a proxy: %v", err)
		}
	})
}

// A proxy that does not answer holds up a connection for as long as --connect-timeout.
func TestProxyHangs(t *testing.T) {
	config, _ := certificate()
	for _, mode := range []string{"loop", "worker"} {
		var report *takt.Report
		drivertest.Slowly(time.Second, func(timeout time.Duration) bool {
			r := record(t, "tcp", "127.0.0.1:0")
			r.tunnel, r.silent, r.refuses = true, true, 1
			r.secured(config)
			r.start()
			o := options("own")
			o.TLS.Insecure, o.DisableKeepAlive, o.ConnectTimeout = true, true, timeout
			if err := o.Proxy.Set(r.addr); err != nil {
				t.Fatal(err)
			}
			var err error
			report, err = engine.Run(t.Context(), plan(t, o, engine.Options{Requests: 2, Connections: 1, Engine: mode}, "https://service.example/x"))
			if err != nil && timeout >= drivertest.Longest {
				t.Fatal(err)
			}
			return err != nil // the first connection was too slow
		})
		if len(report.Errors) != 1 || report.Errors[0].Class != engine.ClassConnectTimeout {
			t.Errorf("%s: %+v", mode, report.Errors)
		}
	}
}

// A proxy that opens no tunnel says why: before the run, or as a class of its own.
func TestProxyRefuses(t *testing.T) {
	config, _ := certificate()
	both(t, func(t *testing.T, client string) {
		for _, mode := range []string{"auto", "worker"} {
			r := record(t, "tcp", "127.0.0.1:0")
			r.tunnel, r.refuses = true, 1
			r.secured(config)
			r.start()
			o := options(client)
			o.TLS.Insecure, o.DisableKeepAlive = true, true
			if err := o.Proxy.Set(r.addr); err != nil {
				t.Fatal(err)
			}
			e := engine.Options{Requests: 3, Connections: 1, Engine: mode}
			report := loadWith(t, o, e, "https://service.example/x")
			if len(report.Errors) != 1 || report.Errors[0].Class != "proxy" || report.Errors[0].Count != 2 || !strings.HasPrefix(report.Errors[0].Sample, "the proxy answers 403 to CONNECT service.example:443; ") {
				t.Errorf("%s: %+v", mode, report.Errors)
			}
		}
	})
	passed, o := 0, options("own")
	u, _ := url.Parse(proxy(t, &passed))
	if err := o.Proxy.Set(u.Host); err != nil {
		t.Fatal(err)
	}
	_, err := engine.Run(t.Context(), plan(t, o, engine.Options{Requests: 1}, "https://service.example/"))
	if err == nil || err.Error() != "cannot reach the target: the proxy answers 407 to CONNECT service.example:443; give --proxy http://USER:PASSWORD@HOST:PORT" {
		t.Error(err)
	}
}

// proxy is one that asks for credentials, and counts what it passes on.
func proxy(t *testing.T, passed *int) string {
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if !strings.HasPrefix(r.Header.Get("Proxy-Authorization"), "Basic ") {
			w.WriteHeader(nethttp.StatusProxyAuthRequired)
			return
		}
		*passed++
		if r.Method == nethttp.MethodConnect {
			tunnel(w, r.Host)
			return
		}
		out := r.Clone(r.Context())
		out.RequestURI = ""
		resp, err := nethttp.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(nethttp.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func tunnel(w nethttp.ResponseWriter, host string) {
	out, err := net.Dial("tcp", host)
	if err != nil {
		w.WriteHeader(nethttp.StatusBadGateway)
		return
	}
	w.WriteHeader(nethttp.StatusOK)
	in, early, err := w.(nethttp.Hijacker).Hijack() // whose first byte the server may have read
	if err != nil {
		_ = out.Close()
		return
	}
	go func() { _, _ = io.Copy(out, early); _ = out.Close() }()
	go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
}

func TestProxy(t *testing.T) {
	plain, secure := startEcho(t, nil), newEcho(t, nil)
	cacert := secure.startTLS(t)
	for _, e := range []*echo{plain, secure} {
		passed := 0
		o := options("auto")
		o.TLS.CACert = cacert
		if err := o.Proxy.Set(strings.Replace(proxy(t, &passed), "://", "://ann:tiger@", 1)); err != nil {
			t.Fatal(err)
		}
		clean(t, load(t, o, 3, e.URL), 3)
		if got := e.requests(); len(got) != 3 || passed == 0 {
			t.Errorf("%s: %d requests, the proxy passed %d on", e.URL, len(got), passed)
		}
		if secrets := strings.Join(o.Secrets(), " "); !strings.Contains(secrets, "tiger") || strings.Contains(o.Proxy.String(), "tiger") {
			t.Errorf("secrets %q, shown %q", secrets, &o.Proxy)
		}
	}
	passed := 0
	o := options("auto")
	o.Scenario = write(t, "steps", "GET /one\n\nGET /two\n")
	if err := o.Proxy.Set(strings.Replace(proxy(t, &passed), "://", "://ann:tiger@", 1)); err != nil {
		t.Fatal(err)
	}
	clean(t, load(t, o, 2, plain.URL), 2)
	if got := plain.requests(); len(got) != 2 || passed != 2 || got[1].URI != "/two" {
		t.Errorf("a scenario: %+v, the proxy passed %d on", got, passed)
	}
	o = options("auto")
	u, _ := url.Parse(proxy(t, &passed))
	if err := o.Proxy.Set(u.Host); err != nil { // hey's form, and no credentials
		t.Fatal(err)
	}
	for login, want := range map[string]string{"": "give --proxy http://USER:PASSWORD@HOST:PORT", "ann:wrong@": "correct them"} {
		refusing := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(nethttp.StatusProxyAuthRequired) }))
		defer refusing.Close()
		for _, client := range []string{"own", "net"} {
			o := options(client)
			if err := o.Proxy.Set(strings.Replace(refusing.URL, "://", "://"+login, 1)); err != nil {
				t.Fatal(err)
			}
			r := load(t, o, 1, plain.URL)
			i := slices.IndexFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == "proxy_login" })
			if r.Status["407"] != 1 || i < 0 || !strings.Contains(r.Warnings[i].Message, want) {
				t.Errorf("%q, %s: %+v, %+v", login, client, r.Status, r.Warnings)
			}
		}
	}
	if r := load(t, o, 1, plain.URL); r.Status["407"] != 1 {
		t.Errorf("%+v", r.Status)
	}
}
