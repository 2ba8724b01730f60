package openmetrics

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/test/metricstest"
	"github.com/taktload/takt/internal/value"
)

// endpoint opens an endpoint on a free port, and returns its address.
func endpoint(t *testing.T, e Endpoint) (*pull, string) {
	t.Helper()
	e.Address = "127.0.0.1:0"
	x, err := openPull(e)
	if err != nil {
		t.Fatal(err)
	}
	p := x.(*pull)
	t.Cleanup(func() { _ = p.Close(t.Context()) })
	return p, p.listener.Addr().String()
}

// get asks for the figures, with headers NAME: VALUE.
func get(t *testing.T, url string, headers ...string) (status int, kind, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, v, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = v
		}
		r.Header.Set(name, v)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Content-Type"), string(text)
}

// A scraper gets the newest second in the format that it asks for.
func TestPull(t *testing.T) {
	p, address := endpoint(t, Endpoint{})
	url := "http://" + address + Path
	if status, _, body := get(t, url); status != 200 || body != "# EOF\n" {
		t.Errorf("before the first second: %d %q", status, body)
	}
	for _, b := range metricstest.Batches(t, "") {
		if err := p.Export(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		for d, accept := range map[dialect]string{openMetrics: "application/openmetrics-text;version=1.0.0,text/plain;q=0.5", prometheus: "*/*"} {
			status, kind, body := get(t, url, "Accept: "+accept)
			if status != 200 || kind != d.contentType() || body != string(text(b, d)) {
				t.Errorf("%d %s\n%s", status, kind, body)
			}
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("the endpoint outlives its run")
	}
}

// Others get nothing.
func TestPullRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("prometheus secret-token look\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, open := endpoint(t, Endpoint{})
	_, shut := endpoint(t, Endpoint{TokenFile: file})
	for _, test := range []struct {
		url    string
		header string
		status int
	}{
		{"http://" + open + Path, "Host: evil.example", 421},
		{"http://" + open + Path, "Host: localhost:1", 200},
		{"http://" + open + Path, "X-Forwarded-For: 127.0.0.1", 421},
		{"http://" + open + "/", "X: y", 404},
		{"http://" + shut + Path, "X: y", 401},
		{"http://" + shut + Path, "Authorization: Bearer wrong", 401},
		{"http://" + shut + Path, "Authorization: Bearer secret-token", 200},
		{"http://" + shut + Path, "Authorization: Basic eDpzZWNyZXQtdG9rZW4=", 200},
	} {
		if status, _, body := get(t, test.url, test.header); status != test.status {
			t.Errorf("%s, %s: %d %s", test.url, test.header, status, body)
		}
	}
}

// Only loopback needs neither a token nor TLS.
func TestParse(t *testing.T) {
	for where, fault := range map[string]string{
		"127.0.0.1:9464":                          "",
		"[::1]:9464":                              "",
		"localhost:0":                             "",
		"127.0.0.1:9464?token-file=t":             "",
		":9464?token-file=t&tls-cert=c&tls-key=k": "",
		":9464":                              "other machines can reach :9464",
		"0.0.0.0:9464?token-file=t":          "other machines can reach",
		"10.0.0.1:9464?tls-cert=c&tls-key=k": "other machines can reach",
		"127.0.0.1:9464?tls-cert=c":          "belong together",
		"127.0.0.1:9464?tls=c":               `the option "tls" is unknown`,
		"127.0.0.1:9464?%zz":                 "cannot be read",
	} {
		d, err := Parse(where)
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%s: %v", where, err)
		}
		if len(d.Names) != 1 || d.Names[0].Kind != value.Private {
			t.Errorf("%s names %v", where, d.Names)
		}
	}
	for _, file := range []string{"takt.prom", "./127.0.0.1:9464", "a:b", "/tmp/a:9464", "host:99999"} {
		if d, err := Parse(file); err != nil || d.Names[0].Kind != value.Writes {
			t.Errorf("%s: %v, %v", file, d.Names, err)
		}
	}
}
