package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/shell"
)

// held is a Run whose jobs go on until they are cancelled, and write a line for each
// token of tick.
func held(tick <-chan struct{}) shell.Run {
	return func(ctx context.Context, _ <-chan struct{}, call shell.Call) int {
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				fmt.Fprintf(call.Out, "%d lines\n", n)
				return 0
			case <-tick:
				fmt.Fprintf(call.Out, "line %d %s\n", n, strings.Repeat("x", 1000))
			}
		}
	}
}

// holdJob starts a job that goes on.
func holdJob(t testing.TB, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &client{conn: conn, fatal: t.Fatal}
	c.until(prompted)
	c.send("http -n 5 http://127.0.0.1:1/")
	c.until(aLine)
	return c
}

func descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

// settle waits until there are no more goroutines and descriptors than at first.
func settle(t *testing.T, goroutines, files int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		g, f := runtime.NumGoroutine(), descriptors(t)
		if g <= goroutines && f <= files {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines and %d descriptors are left, of %d and %d at first", g, f, goroutines, files)
		}
	}
}

// 300 connections come and go in all the ways they can, and 1 MiB lines and noise
// arrive, while a job runs: what they took is given back, and the job goes on unharmed.
func TestComeAndGo(t *testing.T) {
	tick := make(chan struct{})
	server := serve(t, t.TempDir(), held(tick))
	owner := holdJob(t, server.addr)
	goroutines, files := runtime.NumGoroutine(), descriptors(t)+1 // the job's output
	ways := []func(net.Conn){
		func(net.Conn) {},
		func(c net.Conn) { fmt.Fprint(c, "status\r\n") },
		func(c net.Conn) { fmt.Fprint(c, "status\r\nqueue; help\r\nquit\r\n"); _, _ = io.Copy(io.Discard, c) },
		func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); fmt.Fprint(c, "attach\r\n") },
		func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite(); _, _ = io.Copy(io.Discard, c) },
		func(c net.Conn) { _, _ = c.Write(bytes.Repeat([]byte{'x'}, 1<<20)); fmt.Fprint(c, "\nqueue") },
		func(c net.Conn) { _, _ = c.Write(noise(4096)) },
		func(c net.Conn) { fmt.Fprint(c, "edit on\r\n"); _, _ = c.Write(noise(512)) },
		func(c net.Conn) { fmt.Fprint(c, "edit on\r\nstatus\r") },
		func(c net.Conn) { fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\ncancel\r\n") },
	}
	places := make(chan struct{}, 20)
	var all sync.WaitGroup
	for i := range 300 {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			conn, err := net.Dial("tcp", server.addr)
			if err != nil {
				t.Error(err)
				return
			}
			ways[i%len(ways)](conn)
			_ = conn.Close()
		})
		if i%30 == 0 {
			tick <- struct{}{} // the job takes it: it runs
		}
	}
	all.Wait()
	settle(t, goroutines, files)
	owner.send("cancel")
	if text := owner.until(jobDone); !strings.Contains(text, "\n10 lines\n") {
		t.Errorf("%q", text[max(0, len(text)-200):])
	}
}

var jobDone = regexp.MustCompile(`job 1 was cancelled.*\n>>> $`)

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// 200 sessions follow a job; half of them read nothing. The others get every line, and
// so does the job's log.
func TestSlowReaders(t *testing.T) {
	tick := make(chan struct{})
	server := serve(t, t.TempDir(), held(tick))
	owner := holdJob(t, server.addr)
	const lines = 300
	var readers []*client
	for i := range 200 {
		c := dial(t, server.addr)
		c.until(prompted)
		c.send("attach 1; status")
		c.until(aLine)
		if i%2 == 0 {
			readers = append(readers, c)
		} else if err := c.conn.(*net.TCPConn).SetReadBuffer(1 << 10); err != nil { // or the kernel would read for it
			t.Fatal(err)
		}
	}
	for range lines {
		tick <- struct{}{}
	}
	owner.send("cancel")
	var all sync.WaitGroup
	for _, c := range append(readers, owner) {
		all.Go(func() {
			if text := c.until(jobDone); strings.Count(text, "line ") < lines {
				t.Errorf("%d lines of %d", strings.Count(text, "line "), lines)
			}
		})
	}
	all.Wait()
}

// There is a bound of sessions, and place again when one ends.
func TestSessionsAreBounded(t *testing.T) {
	server := serve(t, t.TempDir(), held(nil))
	var list []*client
	for range 256 {
		c := dial(t, server.addr)
		c.until(prompted)
		list = append(list, c)
	}
	if text := dial(t, server.addr).until(closed); text != "error: there are 256 sessions already; try again later\n" {
		t.Errorf("%q", text)
	}
	list[0].send("quit")
	list[0].until(closed)
	for {
		c := dial(t, server.addr)
		if text := c.until(anything); strings.HasPrefix(text, "takt") {
			return
		}
	}
}

var anything = regexp.MustCompile(`.`)

// Jobs of a session that has gone go on; with --cancel they do not.
func TestQuit(t *testing.T) {
	tick := make(chan struct{})
	server := serve(t, t.TempDir(), held(tick))
	first := holdJob(t, server.addr)
	first.send("quit")
	first.until(closed)
	tick <- struct{}{} // it runs
	second := dial(t, server.addr)
	second.until(prompted)
	second.send("http -n 7 http://127.0.0.1:1/")
	second.until(prompted)
	second.send("quit --cancel")
	second.until(closed)
	tick <- struct{}{} // it was not the first one's
	third := dial(t, server.addr)
	third.until(prompted)
	third.send("queue")
	if text := third.until(prompted); !strings.HasPrefix(text, "running  job 1 ") || strings.Contains(text, "job 2") {
		t.Errorf("%q", text)
	}
}

// A script that ends its input sees its jobs to their end.
func TestScript(t *testing.T) {
	server := serve(t, t.TempDir(), func(_ context.Context, _ <-chan struct{}, call shell.Call) int {
		fmt.Fprintln(call.Out, call.Args[len(call.Args)-1])
		return 3
	})
	c := dial(t, server.addr)
	fmt.Fprint(c.conn, "http http://127.0.0.1:1/a ; http http://127.0.0.1:1/b\nstatus\nhalf a li")
	_ = c.conn.(*net.TCPConn).CloseWrite()
	text := c.until(closed)
	for _, want := range []string{"\nhttp://127.0.0.1:1/a\n", "\njob 1 ended after", " with exit code 3\n", "\nhttp://127.0.0.1:1/b\n", "\njob 2 ended after", "commands queued\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

// What looks like HTTP, TLS or STUN gets no answer, and nothing of it is run: a web page can put lines
// into the ticket of a TLS session, or into a user's name of TURN. The audit log tells of it.
func TestOtherProtocols(t *testing.T) {
	tick := make(chan struct{})
	log := filepath.Join(t.TempDir(), "audit")
	server := serve(t, t.TempDir(), held(tick), "--audit-log", log)
	holdJob(t, server.addr)
	firsts := []string{
		"POST / HTTP/1.1", "GET http://x/ HTTP/1.0", "Host: x", "PRI * HTTP/2.0",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03random\x00\x23\x00\x40\x03status", "\x00\x03\x00\x20\x21\x12\xa4\x42", "\x01\x01\x00\x20\x21\x12\xa4\x42",
	}
	for _, first := range firsts {
		c := dial(t, server.addr)
		c.until(prompted)
		c.send(first + "\r\ncancel\r\ncancel")
		if text := c.until(closed); text != "" {
			t.Errorf("%q: %q", first, text)
		}
	}
	tick <- struct{}{} // the job goes on
	if text, err := os.ReadFile(log); err != nil || strings.Count(string(text), `"outcome":"refused: this is another protocol than a session's`) != len(firsts) {
		t.Errorf("%v\n%s", err, text)
	}
}

// 200 sessions that do nothing take at most 0.5 % of a core.
func TestIdle(t *testing.T) {
	if os.Getenv("TAKT_TIMING") == "" {
		t.Skip("takes 10 s and a quiet machine; TAKT_TIMING=1 runs it")
	}
	server := serve(t, t.TempDir(), held(nil))
	holdJob(t, server.addr)
	for i := range 200 {
		c := dial(t, server.addr)
		c.until(prompted)
		if i%2 == 0 {
			c.send("attach")
		}
	}
	before := cpu(t)
	time.Sleep(10 * time.Second)
	used := cpu(t) - before
	t.Logf("200 idle sessions took %v of CPU in 10 s, %.3f %% of a core", used, used.Seconds()/10*100)
	if used > 50*time.Millisecond {
		t.Error("more than 0.5 % of a core")
	}
}

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
