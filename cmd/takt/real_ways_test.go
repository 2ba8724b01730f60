//go:build real

package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	nethttp "net/http"

	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file use TLS and HTTP/2 with nginx, and a proxy.

// nginxAt is the URL of nginx's n-th port after the first.
func nginxAt(t *testing.T, scheme string, n int) string {
	t.Helper()
	host, port, _ := strings.Cut(strings.TrimPrefix(nginx(t), "http://"), ":")
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return scheme + "://" + host + ":" + strconv.Itoa(number+n)
}

// pki downloads certificate files from nginx.
func pki(t *testing.T, names ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		text, _ := ask(t, "/pki/"+name)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestRealNginxTLS(t *testing.T) {
	ca := pki(t, "ca.pem")[0]
	for _, client := range []string{"own", "net"} {
		r := takeReport(t, []string{"-n", "300", "-c", "5", "--client", client, "--cacert", ca, "--expect-body", "^HTTP/1.1$", nginxAt(t, "https", 1) + "/protocol"})
		same(t, r, "200", 300)
		if r.Counts.OK != 300 || r.Latency["tls"].Count == 0 {
			t.Errorf("%s: %+v, %d handshakes; %+v", client, r.Counts, r.Latency["tls"].Count, r.Errors)
		}
	}
}

// HTTP/2, with TLS and without, uses as many connections as --h2-connections says.
func TestRealNginxHTTP2(t *testing.T) {
	ca := pki(t, "ca.pem")[0]
	for _, url := range []string{nginxAt(t, "https", 1), nginxAt(t, "http", 2)} {
		for _, conns := range []uint64{1, 4} {
			before := countNginx(t)
			r := takeReport(t, []string{"-n", "1000", "--h2", "--h2-streams", "20", "--h2-connections", strconv.FormatUint(conns, 10), "--cacert", ca, "--expect-body", "^HTTP/2.0$", url + "/protocol"})
			after := countNginx(t)
			same(t, r, "200", 1000)
			if n := after.requested - before.requested - 1; n != 1000 || r.Counts.OK != 1000 {
				t.Errorf("%s: nginx served %d, counts %+v; want 1000; %+v", url, n, r.Counts, r.Errors)
			}
			if n := after.accepted - before.accepted - 1; n != conns {
				t.Errorf("%s: %d connections, want %d, with that of the probe", url, n, conns)
			}
		}
	}
}

// nginx accepts clients with a certificate, and no others.
func TestRealNginxClientCertificate(t *testing.T) {
	files := pki(t, "ca.pem", "client.pem", "client.key")
	url := nginxAt(t, "https", 1) + "/members"
	for _, client := range []string{"own", "net"} {
		args := []string{"-n", "50", "-c", "5", "--client", client, "--cacert", files[0]}
		same(t, takeReport(t, append(slices.Clone(args), url)), "403", 50)
		r := takeReport(t, append(slices.Clone(args), "--cert", files[1], "--key", files[2], "--expect-body", "CN=client", url))
		same(t, r, "200", 50)
		if r.Counts.OK != 50 {
			t.Errorf("%s: %+v %+v", client, r.Counts, r.Errors)
		}
	}
}

func TestRealNginxFollowsRedirects(t *testing.T) {
	before := countNginx(t)
	r := takeReport(t, []string{"-n", "100", "-c", "5", "--redirects", "1", nginx(t) + "/moved"})
	after := countNginx(t)
	same(t, r, "200", 100)
	if n := after.requested - before.requested - 1; n != 200 || r.Warned("redirects") || r.Warned("retries") {
		t.Errorf("nginx served %d, want 200; warnings %v", n, r.Warnings)
	}
}

// Requests of a list, and requests with placeholders, reach nginx.
func TestRealNginxTargets(t *testing.T) {
	list := filepath.Join(t.TempDir(), "targets")
	text := "GET " + nginx(t) + "/\nGET " + nginx(t) + "/missing\n\nHEAD " + nginx(t) + "/large.txt\n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, client := range []string{"own", "net"} {
		r := takeReport(t, []string{"-n", "300", "-c", "5", "--client", client, "--targets", list})
		if r.Status["200"] != 200 || r.Status["404"] != 100 {
			t.Errorf("%s: status %v", client, r.Status)
		}
		r = takeReport(t, []string{"-n", "300", "-c", "5", "--client", client, nginx(t) + `/?n={{.Seq}}&id={{uuid}}`})
		same(t, r, "200", 300)
	}
}

// TestRealProxy: with a password tinyproxy forwards plain requests and tunnels; without one it
// forwards nothing.
func TestRealProxy(t *testing.T) {
	proxy := os.Getenv("TAKT_PROXY")
	if proxy == "" {
		t.Fatal("TAKT_PROXY is not set; run scripts/test-real")
	}
	var via string
	handler := nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		via = r.Header.Get("Via")
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	for _, url := range []string{plain.URL, secure.URL} {
		via = "nobody"
		r := takeReport(t, []string{"-n", "40", "-c", "1", "--insecure", "-x", proxy, url})
		same(t, r, "200", 40)
		if inTheOpen := url == plain.URL; strings.Contains(via, "tinyproxy") != inTheOpen {
			t.Errorf("%s: Via is %q", url, via)
		}
	}
	r := takeReport(t, []string{"-n", "3", "-c", "1", "-x", strings.Replace(proxy, "takt:secret@", "", 1), plain.URL})
	if r.Counts.OK != 0 || r.Status["407"] != 3 && r.Status["401"] != 3 {
		t.Errorf("without a password: %+v, status %v", r.Counts, r.Status)
	}
	if command := strings.Join(r.Command, " "); strings.Contains(command, "secret") {
		t.Errorf("the command is %s", command)
	}
	if _, ok := r.Latency[takt.LatencyResponse]; !ok {
		t.Error("no response time")
	}
}
