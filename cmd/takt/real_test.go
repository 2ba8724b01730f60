//go:build real

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file run takt http against the nginx of scripts/nginx.conf, which
// scripts/test-real starts. They compare takt's counts with nginx's own.

func nginx(t *testing.T) string {
	t.Helper()
	url := os.Getenv("TAKT_NGINX")
	if url == "" {
		t.Fatal("TAKT_NGINX is not set; run scripts/test-real")
	}
	return url
}

// nginxCounts are the connections and requests since nginx started.
type nginxCounts struct{ accepted, requested uint64 }

// countNginx reads the counts. Each call adds a connection and a request.
func countNginx(t *testing.T) (c nginxCounts) {
	t.Helper()
	body, _ := ask(t, "/status")
	lines := strings.Split(body, "\n") // the third: accepts handled requests
	var handled uint64
	if _, err := fmt.Sscan(lines[2], &c.accepted, &handled, &c.requested); err != nil {
		t.Fatalf("nginx's status is %q: %v", body, err)
	}
	return c
}

// ask gets a page over a new connection.
func ask(t *testing.T, path string) (string, *http.Response) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(nginx(t) + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), resp
}

// wireBytes is the size of the answer to takt's GET, with its head. It uses its own connection,
// because Go's client does not count these bytes.
func wireBytes(t *testing.T, path string) int64 {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(nginx(t), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: nginx\r\nAccept-Encoding: gzip\r\n\r\n", path)
	counter := &counter{r: c}
	resp, err := http.ReadResponse(bufio.NewReader(counter), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return counter.n
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// run runs takt http with each of both clients. check gets the report, and what nginx counted
// meanwhile.
func run(t *testing.T, args []string, path string, check func(t *testing.T, r *takt.Report, n nginxCounts)) {
	for _, client := range []string{"own", "net"} {
		t.Run(client, func(t *testing.T) {
			before := countNginx(t)
			r := takeReport(t, append(slices.Clone(args), "--client", client, nginx(t)+path))
			after := countNginx(t)
			c := r.Counts
			if c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished || c.Dropped+c.Unfinished > 0 {
				t.Errorf("counts %+v do not add up, or operations were lost", c)
			}
			// 1: the second countNginx counts itself.
			check(t, r, nginxCounts{after.accepted - before.accepted - 1, after.requested - before.requested - 1})
		})
	}
}

// takeReport runs takt http.
func takeReport(t *testing.T, args []string) *takt.Report {
	t.Helper()
	return reportOf(t, "http", args)
}

// reportOf runs a load command such as kafka produce. A run without any good answer must end with exit
// code 1 and still write its report.
func reportOf(t *testing.T, command string, args []string) *takt.Report {
	t.Helper()
	r, code, said := runOnce(t, t.Context(), command, args)
	if want := r.Counts.OK == 0; (code == 1) != want || code > 1 {
		t.Errorf("exit code %d with %d good answers\n%s", code, r.Counts.OK, said)
	}
	return r
}

// runOnce runs a load command and returns its report, exit code and output.
func runOnce(t *testing.T, ctx context.Context, command string, args []string) (r *takt.Report, code int, said string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	code, said = say(ctx, command, append([]string{"-o", "json=" + path}, args...))
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		t.Fatalf("%v: exit code %d\n%s", err, code, said)
	}
	return r, code, said
}

// say runs a command in this process, and returns its exit code and everything that it printed.
func say(ctx context.Context, command string, args []string) (code int, said string) {
	var out bytes.Buffer
	code = cli.Main(core.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Getenv: func(string) string { return "" }, Interrupt: ctx,
	}, slices.Concat(strings.Fields(command), []string{"--no-store", "--progress", "none"}, args))
	return code, out.String()
}

// same demands that all n operations ended with one status.
func same(t *testing.T, r *takt.Report, status string, n uint64) {
	t.Helper()
	if r.Counts.Scheduled != n || r.Status[status] != n || len(r.Status) != 1 {
		t.Errorf("%d scheduled, status %v, errors %v; want %d, all %s", r.Counts.Scheduled, r.Status, r.Errors, n, status)
	}
}

func TestRealNginxRate(t *testing.T) {
	run(t, []string{"--rate", "2000/s", "--duration", "2s"}, "/", func(t *testing.T, r *takt.Report, n nginxCounts) {
		same(t, r, "200", 4000)
		if n.requested != 4000 || r.Counts.OK != 4000 || r.Counts.Sent != 4000 {
			t.Errorf("nginx served %d, counts %+v; want 4000 everywhere", n.requested, r.Counts)
		}
		if want := 4000 * wireBytes(t, "/"); r.Bytes.Received != want {
			t.Errorf("%d bytes received, want %d", r.Bytes.Received, want)
		}
		for _, name := range []string{takt.LatencyResponse, takt.LatencyService, takt.LatencyScheduleLag} {
			if c := r.Latency[name].Count; c != 4000 {
				t.Errorf("%s: %d values, want 4000", name, c)
			}
		}
		var ok uint64
		for _, iv := range r.Intervals {
			ok += iv.OK
		}
		if ok != 4000 {
			t.Errorf("the intervals add up to %d, want 4000", ok)
		}
	})
}

func TestRealNginxClosedLoop(t *testing.T) {
	run(t, []string{"-n", "2000", "-c", "10"}, "/", func(t *testing.T, r *takt.Report, n nginxCounts) {
		same(t, r, "200", 2000)
		if n.requested != 2000 || n.accepted < 10 || n.accepted > 21 { // with a probe, and with dials of net/http that were no longer needed
			t.Errorf("nginx counted %+v, want 2000 requests on 10 connections", n)
		}
	})
}

func TestRealNginxBodies(t *testing.T) {
	if _, resp := ask(t, "/chunked/medium.txt"); !slices.Equal(resp.TransferEncoding, []string{"chunked"}) {
		t.Fatalf("nginx's answer is not chunked: %v", resp.Header)
	}
	for _, path := range []string{"/large.txt", "/chunked/medium.txt", "/slow/medium.txt"} {
		t.Run(path[1:], func(t *testing.T) {
			run(t, []string{"--rate", "50/s", "--duration", "1s"}, path, func(t *testing.T, r *takt.Report, n nginxCounts) {
				same(t, r, "200", 50)
				if n.requested != 50 {
					t.Errorf("nginx served %d, want 50", n.requested)
				}
				if want := 50 * wireBytes(t, path); r.Bytes.Received != want {
					t.Errorf("%d bytes received, want %d", r.Bytes.Received, want)
				}
				// nginx sends slowly (limit_rate): service time ends with the last byte, not with the first.
				if p50 := r.Latency[takt.LatencyService].P50; strings.HasPrefix(path, "/slow") && p50 < 100e3 {
					t.Errorf("service p50 is %v µs, want at least 0.1 s", p50)
				}
			})
		})
	}
}

func TestRealNginxNotFound(t *testing.T) {
	run(t, []string{"--rate", "200/s", "--duration", "1s"}, "/missing", func(t *testing.T, r *takt.Report, n nginxCounts) {
		same(t, r, "404", 200)
		if len(r.Errors) != 1 || r.Errors[0].Class != "4xx" || r.Errors[0].Count != 200 || !strings.Contains(r.Errors[0].Body, "404 Not Found") {
			t.Errorf("errors %+v, want 200 of class 4xx with nginx's page", r.Errors)
		}
		if n.requested != 200 {
			t.Errorf("nginx served %d, want 200", n.requested)
		}
	})
}

func TestRealNginxRedirect(t *testing.T) {
	run(t, []string{"--rate", "200/s", "--duration", "1s"}, "/moved", func(t *testing.T, r *takt.Report, n nginxCounts) {
		same(t, r, "302", 200)
		if !r.Warned("redirects") || r.Counts.OK != 200 {
			t.Errorf("counts %+v, warnings %v; want 200 good ones and a warning of redirects", r.Counts, r.Warnings)
		}
		if n.requested != 200 {
			t.Errorf("nginx served %d, want 200: redirects are not followed", n.requested)
		}
	})
}

func TestRealNginxWithoutKeepAlive(t *testing.T) {
	run(t, []string{"--rate", "200/s", "--duration", "1s", "--disable-keepalive"}, "/", func(t *testing.T, r *takt.Report, n nginxCounts) {
		same(t, r, "200", 200)
		if n.requested != 200 || n.accepted < 200 {
			t.Errorf("nginx counted %+v, want 200 requests, each on a new connection", n)
		}
	})
}

// TestRealNginxClosing: the server closes each connection after 10 requests.
func TestRealNginxClosing(t *testing.T) {
	run(t, []string{"-n", "500", "-c", "5"}, "/closing", func(t *testing.T, r *takt.Report, n nginxCounts) {
		same(t, r, "200", 500)
		if n.requested != 500 || n.accepted < 50 {
			t.Errorf("nginx counted %+v, want 500 requests, at most 10 a connection", n)
		}
	})
}

func TestRealNginxHead(t *testing.T) {
	run(t, []string{"-n", "200", "-c", "10", "-m", "HEAD"}, "/large.txt", func(t *testing.T, r *takt.Report, n nginxCounts) {
		same(t, r, "200", 200)
		if r.Bytes.Received > 200*1000 {
			t.Errorf("%d bytes received for 200 heads", r.Bytes.Received)
		}
		if n.requested != 200 || n.accepted > 21 {
			t.Errorf("nginx counted %+v, want 200 requests on kept connections", n)
		}
	})
}
