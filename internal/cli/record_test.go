package cli_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	driver "github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/test/clitest"
	"github.com/taktload/takt/pkg/takt"
)

// recordingCommand is takt scenario record that runs.
type recordingCommand struct {
	t         *testing.T
	proxy     *url.URL
	authority *x509.CertPool
	spki      string
	end       func()
	over      chan int // exit code
	stderr    *spoken
	stdout    *bytes.Buffer
}

// spoken is what a command says, while it runs.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *spoken) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

var spokenProxy = regexp.MustCompile(`--proxy (http://\S+)(?s:.*)spki-list=(\S+)`)

// startRecording starts takt scenario record with an authority in a folder.
func startRecording(t *testing.T, args ...string) *recordingCommand {
	t.Helper()
	folder := t.TempDir()
	ctx, end := context.WithCancel(t.Context())
	r := &recordingCommand{t: t, end: end, over: make(chan int, 1), stderr: &spoken{}, stdout: &bytes.Buffer{}}
	env := core.Env{Stdin: strings.NewReader(""), Stdout: r.stdout, Stderr: r.stderr, Getenv: func(string) string { return "" }, Interrupt: ctx}
	go func() {
		r.over <- cli.Main(env, append([]string{"scenario", "record", "--authority", folder}, args...))
	}()
	t.Cleanup(end)
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if m := spokenProxy.FindStringSubmatch(r.stderr.String()); m != nil {
			var err error
			if r.proxy, err = url.Parse(m[1]); err != nil {
				t.Fatal(err)
			}
			r.spki = m[2]
			break
		}
		if time.Now().After(end) || len(r.over) > 0 {
			t.Fatal(r.stderr)
		}
	}
	cert, err := os.ReadFile(filepath.Join(folder, "takt-authority.pem"))
	if err != nil {
		t.Fatal(err)
	}
	r.authority = x509.NewCertPool()
	r.authority.AppendCertsFromPEM(cert)
	return r
}

// client is a browser that uses the proxy.
func (r *recordingCommand) client() *http.Client {
	jar, _ := cookiejar.New(nil)
	over := &http.Transport{Proxy: http.ProxyURL(r.proxy), TLSClientConfig: &tls.Config{RootCAs: r.authority}}
	r.t.Cleanup(over.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: over, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// finish is Ctrl-C.
func (r *recordingCommand) finish() {
	r.t.Helper()
	r.end()
	if code := <-r.over; code != 0 {
		r.t.Fatalf("exit code %d\n%s", code, r.stderr)
	}
}

// certificateOf writes the certificate of a server as a file for --cacert.
func certificateOf(t *testing.T, s *shop) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// play loads the shop with users who do what was recorded, and compares what the shop saw.
func play(t *testing.T, s *shop, scenario string, users int, flags ...string) {
	t.Helper()
	s.reset()
	report := filepath.Join(t.TempDir(), "report.json")
	steps := strings.Count(readFile(t, scenario), "@check status")
	args := append([]string{"http", "--scenario", scenario, "--rate", "1000/s", "-n", fmt.Sprint(users * steps), "-o", "json=" + report, "--no-store"}, flags...)
	code, _, stderr := clitest.Call(t.Context(), cli.Main, append(args, s.URL)...)
	var r takt.Report
	if _, err := os.Stat(report); err != nil {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, readFile(t, scenario))
	}
	if err := json.Unmarshal([]byte(readFile(t, report)), &r); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if s.done != users || len(s.faults) > 0 || int(r.Counts.OK) != users*steps {
		t.Errorf("%d of %d rounds saw the last page, %d requests of %d were ok (exit code %d); %d broken rules, the first %q; errors %+v\n%s", s.done, users, r.Counts.OK, users*steps, code, len(s.faults), append(s.faults, "")[0], r.Errors, readFile(t, scenario))
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A visit of a shop that checks all it asks for is recorded, and the file works unchanged for many users.
func TestRecordedScenarioWorks(t *testing.T) {
	for name, secure := range map[string]bool{"http": false, "https": true} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, secure)
			file, load, flags := filepath.Join(t.TempDir(), "steps.txt"), filepath.Join(t.TempDir(), "load.csv"), []string(nil)
			if secure {
				flags = []string{"--cacert", certificateOf(t, s)}
			}
			r := startRecording(t, append(flags, "-o", file, "--load", load)...)
			v := &visitor{t: t, s: s, client: r.client()}
			v.visit()
			r.finish()
			if len(s.faults) > 0 {
				t.Fatalf("the visit itself broke rules: %q", s.faults)
			}
			for _, want := range []string{"13 steps", "left out: 2 requests for static files"} {
				if !strings.Contains(r.stderr.String(), want) {
					t.Errorf("not said: %s\n%s", want, r.stderr)
				}
			}
			if strings.Contains(r.stderr.String(), "not known where from") {
				t.Error(r.stderr)
			}
			play(t, s, file, 100, flags...)
			if n := strings.Count(readFile(t, load), "\n"); n < 14 {
				t.Errorf("the load file has %d lines\n%s%s", n, readFile(t, load), r.stderr)
			}
		})
	}
}

// harOf is what the developer tools of a browser save of exchanges.
type harOf struct {
	http.RoundTripper
	entries []map[string]any
}

func (h *harOf) RoundTrip(q *http.Request) (*http.Response, error) {
	began := time.Now()
	var sent []byte
	if q.Body != nil {
		sent, _ = io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(sent))
	}
	a, err := h.RoundTripper.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(a.Body)
	a.Body = io.NopCloser(bytes.NewReader(content))
	list := func(header http.Header) (list []map[string]string) {
		for name, values := range header {
			list = append(list, map[string]string{"name": strings.ToLower(name), "value": strings.Join(values, "\n")})
		}
		return list
	}
	request := map[string]any{"method": q.Method, "url": q.URL.String(), "headers": list(q.Header)}
	if len(sent) > 0 {
		request["postData"] = map[string]any{"mimeType": q.Header.Get("Content-Type"), "text": string(sent)}
	}
	h.entries = append(h.entries, map[string]any{
		"startedDateTime": began.UTC().Format("2006-01-02T15:04:05.000Z"), "time": time.Since(began).Seconds() * 1e3,
		"request":  request,
		"response": map[string]any{"status": a.StatusCode, "headers": list(a.Header), "content": map[string]any{"size": len(content), "encoding": "base64", "text": content}},
		"timings":  map[string]any{"send": 0, "wait": time.Since(began).Seconds() * 1e3, "receive": 0.1},
	})
	return a, err
}

// A HAR file becomes a scenario that works, also one that was cut, up to where it was.
func TestScenarioFromHAR(t *testing.T) {
	s := newShop(t, false)
	jar, _ := cookiejar.New(nil)
	h := &harOf{RoundTripper: http.DefaultTransport}
	v := &visitor{t: t, s: s, client: &http.Client{Jar: jar, Transport: h, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	v.visit()
	text, err := json.MarshalIndent(map[string]any{"log": map[string]any{"version": "1.2", "entries": h.entries}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		text []byte
		said string
	}{"whole": {text, "13 steps; 11 values from answers"}, "cut": {text[:len(text)-500], "the file ends early"}} {
		har, file := filepath.Join(t.TempDir(), "shop.har"), filepath.Join(t.TempDir(), "steps.txt")
		if err := os.WriteFile(har, one.text, 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := clitest.Call(t.Context(), cli.Main, "scenario", "from", har, "-o", file)
		if code != 0 || !strings.Contains(stderr, one.said) || strings.Contains(stderr, "not known where from") {
			t.Errorf("%s: exit code %d\n%s", name, code, stderr)
		}
		if name == "whole" {
			play(t, s, file, 50)
		} else if err := driver.CheckScenario(file, []byte(readFile(t, file)), s.URL); err != nil {
			t.Error(err)
		}
	}
}
