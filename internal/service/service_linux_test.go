package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// TestMain is also the server of the tests: it listens on PORT, and says so.
func TestMain(m *testing.M) {
	if os.Getenv("SERVE") == "" {
		os.Exit(m.Run())
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("listening on", os.Getenv("PORT"))
	for {
		conn, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		buffer := make([]byte, 4096)
		_, _ = conn.Read(buffer)
		fmt.Fprintf(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		conn.Close()
	}
}

// options start a script in which $SERVER is the server.
func options(t *testing.T, script, ready string, status int) Options {
	t.Helper()
	when, err := NewReady(ready, status)
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Command: script, Folder: t.TempDir(), Env: append(os.Environ(), "SERVE=1", "SERVER="+os.Args[0]),
		Ready: when, Patience: time.Minute, Grace: time.Minute,
	}
}

func TestReady(t *testing.T) {
	for _, test := range []struct {
		ready  string
		status int
	}{
		{"", 0}, {"tcp", 0}, {"tcp:localhost:{{.Port}}", 0}, {"log:listening on [0-9]+", 0}, {"log:^listening", 0}, {"http://127.0.0.1:{{.Port}}/", 404},
	} {
		s, err := Start(t.Context(), options(t, `exec "$SERVER"`, test.ready, test.status))
		if err != nil {
			t.Errorf("%s: %v", test.ready, err)
			continue
		}
		if text := s.WithPort("a:{{.Port}}"); s.PlaceOf(text) != "a:{{.Port}}" || text == "a:{{.Port}}" {
			t.Error(text)
		}
		watched, sampled := s.Watch(), s.Sample()
		r := &takt.Report{StartedAt: time.Now()}
		if test.ready == "tcp" {
			time.Sleep(300 * time.Millisecond) // the shortest second
		}
		sampled.End()
		if sampled.Fill(r); test.ready == "tcp" && (len(r.ServerSeconds) != 1 || r.ServerSeconds[0].Figures[timeline.Memory] < 1<<20 || len(r.ServerSeconds[0].Figures) != 4) {
			t.Errorf("%+v", r.ServerSeconds) // memory, CPU, errors and warnings
		}
		if s.Stop() || s.Stop() { // the second has no effect
			t.Error("a server that ends at SIGTERM was killed")
		}
		if u := watched.Usage(); u.MaxRSS < 1<<20 {
			t.Errorf("%+v", u)
		}
		if _, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", s.Port)); err == nil {
			t.Error("the server lives on")
		}
	}
	for text, status := range map[string]int{"ftp://a/": 0, "log:": 0, "log:(": 0, "a": 0, "tcp": 200, "http:///": 0} {
		if _, err := NewReady(text, status); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestNeverReady(t *testing.T) {
	for ready, want := range map[string]string{
		"http://127.0.0.1:{{.Port}}/": "answered with status 404",
		"tcp:127.0.0.1:1":             "connection refused",
		"log:ready":                   "no line of its output matches ready",
	} {
		o := options(t, `echo begun; exec "$SERVER"`, ready, 0)
		o.Patience = time.Second
		_, err := Start(t.Context(), o)
		var failed *Failed
		if !errors.As(err, &failed) || !strings.Contains(failed.Why, want) || !strings.Contains(failed.Why, "--ready-timeout") || len(failed.Tail) == 0 || failed.Tail[0].Text != "begun" {
			t.Errorf("%s: %v", ready, err)
		}
	}
	other, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, fmt.Sprintf(`PORT=%d exec "$SERVER"`, other), "tcp", 0)
	o.Patience = time.Second
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("; the server listens on port %d, and not on its port ", other)) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user")
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	if _, err := Start(ctx, options(t, `exec "$SERVER"`, "log:never", 0)); err != cause {
		t.Error(err)
	}
}

// A server is not waited for if no time makes it ready.
func TestCannotBecomeReady(t *testing.T) {
	for ready, begun := range map[string]bool{"https://127.0.0.1:{{.Port}}/": true, "http://127.0.0.1:99999/": false} {
		o := options(t, `echo begun >begun; exec "$SERVER"`, ready, 0)
		o.Patience = time.Minute
		_, err := Start(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "cannot become ready: ") || !strings.Contains(err.Error(), "; correct --ready") {
			t.Errorf("%s: %v", ready, err)
		}
		if _, missing := os.Stat(filepath.Join(o.Folder, "begun")); (missing == nil) != begun {
			t.Errorf("%s: the server was started: %v", ready, missing == nil)
		}
	}
	if _, err := NewReady("tcp:127.0.0.1", 0); err == nil || !strings.Contains(err.Error(), "write HOST:PORT") {
		t.Error(err)
	}
}

func TestEndsAtStart(t *testing.T) {
	for script, want := range map[string]string{
		"echo why; exit 3":             "exit status 3",
		"echo why; kill -9 $$":         "signal: killed",
		`echo why; "$SERVER" & exit 0`: "must not return while the server runs",
		"echo why; exec /nonexistent":  "exit status 127",
	} {
		_, err := Start(t.Context(), options(t, script, "log:never", 0))
		var failed *Failed
		if !errors.As(err, &failed) || !strings.Contains(failed.Why, want) || len(failed.Tail) == 0 || failed.Tail[0].Text != "why" {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// A server that answers before it is started is another one.
func TestPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Start(t.Context(), options(t, "sleep 600", "tcp:"+l.Addr().String(), 0)); err == nil || !strings.Contains(err.Error(), "another program answers") {
		t.Error(err)
	}
}

// A server that is deaf for SIGTERM, and one that has left its group and session, are killed.
func TestNothingIsLeft(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid")
	}
	o := options(t, `trap '' TERM; setsid "$SERVER" & sleep 600 & while :; do sleep 600; done`, "", 0)
	o.Grace = 50 * time.Millisecond
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	pids := s.child.Pids()
	if len(pids) < 3 { // a shell, the server, and a sleep
		t.Errorf("%d processes", len(pids))
	}
	if !s.Stop() {
		t.Error("a deaf server ended by itself")
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil && !zombie(pid) {
			t.Errorf("%d lives on", pid)
		}
	}
	if _, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", s.Port)); err == nil {
		t.Error("the server lives on")
	}
}

// zombie reports whether a process has ended and waits for its parent.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
