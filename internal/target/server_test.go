package target

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/sock"
)

// patience is how long a test waits for what takes milliseconds.
const patience = 2 * time.Minute

// start serves o on a free port; the test, or stop, ends it.
func start(t *testing.T, o Options) (s *Server, stop func()) {
	t.Helper()
	o.Addr = "127.0.0.1:0"
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("Serve does not end")
		}
	})
	t.Cleanup(stop)
	return s, stop
}

// client has connections of its own, closed with the test.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// load sends n requests from each of some workers and counts the answers by
// status; 0 is an error. POST, for net/http repeats a GET that was reset.
func load(t *testing.T, url string, workers, n int) map[int]int {
	var (
		mu     sync.Mutex
		counts = map[int]int{}
		done   sync.WaitGroup
		c      = client(t)
	)
	for range workers {
		done.Go(func() {
			for range n {
				status := post(c, url)
				mu.Lock()
				counts[status]++
				mu.Unlock()
			}
		})
	}
	done.Wait()
	return counts
}

func post(c *http.Client, url string) int {
	r, err := c.Post(url, "text/plain", strings.NewReader("hello"))
	if err != nil {
		return 0
	}
	defer func() { _ = r.Body.Close() }()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return 0
	}
	return r.StatusCode
}

// dial opens a plain connection and sends text.
func dial(t *testing.T, s *Server, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// await waits until the server has seen what the test needs.
func await(t *testing.T, s *Server, what string, seen func(Counts) bool) {
	t.Helper()
	for end := time.Now().Add(patience); !seen(s.Truth().Counts); time.Sleep(ms) {
		if time.Now().After(end) {
			t.Fatalf("%s: not seen in %+v", what, s.Truth().Counts)
		}
	}
}

func TestAnswers(t *testing.T) {
	s, _ := start(t, Options{Status: 201, Size: new(1 << 10)})
	for _, method := range []string{"GET", "HEAD", "POST"} {
		q, _ := http.NewRequest(method, s.URL()+"/any", strings.NewReader("body"))
		r, err := client(t).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		want := 1024
		if method == "HEAD" {
			want = 0
		}
		if err != nil || r.StatusCode != 201 || len(body) != want || r.ContentLength != 1024 {
			t.Errorf("%s: %v, %d bytes, %v", method, r.Status, len(body), err)
		}
	}
}

// Several requests in one packet are answered in order; the last ends the connection.
func TestPipelining(t *testing.T) {
	for _, service := range []string{"0", "1ms"} {
		s, _ := start(t, Options{Service: service, Size: new(3)})
		_, in := dial(t, s, "GET /1 HTTP/1.1\r\n\r\nHEAD /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.0\r\n\r\n")
		text, err := io.ReadAll(in)
		head := "HTTP/1.1 200 OK\r\nConnection: %s\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n"
		alive := fmt.Sprintf(head, "keep-alive")
		if want := alive + "tak" + alive + fmt.Sprintf(head, "close") + "tak"; err != nil || string(text) != want {
			t.Errorf("service %s: %q, %v; want %q", service, text, err, want)
		}
	}
}

func TestExpectContinue(t *testing.T) {
	s, _ := start(t, Options{Status: 204})
	c, in := dial(t, s, "PUT / HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n")
	if line, err := in.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = io.WriteString(c, "ab")
	if text, err := io.ReadAll(in); string(text) != "\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestMalformed(t *testing.T) {
	s, stop := start(t, Options{})
	for text, status := range map[string]string{"nonsense\r\n\r\n": "400", "GET /" + strings.Repeat("x", maxLine-5): "431"} {
		_, in := dial(t, s, text)
		answer, err := io.ReadAll(in)
		if !strings.HasPrefix(string(answer), "HTTP/1.1 "+status) {
			t.Errorf("%.20q: %q, %v; want %s", text, answer, err, status)
		}
	}
	stop()
	if c := s.Truth().Counts; c.Malformed != 2 || c.Requests != 0 {
		t.Errorf("%+v", c)
	}
}

// What the client meets is what the truth says, and about what was asked.
func TestFailures(t *testing.T) {
	for _, service := range []string{"0", "exp(100us)"} {
		s, stop := start(t, Options{Service: service, Seed: 3, ErrorRate: 0.1, ResetRate: 0.03, CloseRate: 0.02})
		got := load(t, s.URL(), 8, 250)
		stop()
		c := s.Truth().Counts
		if uint64(got[200]) != c.OK || uint64(got[500]) != c.Errors || uint64(got[0]) != c.Resets+c.Closed || c.Requests != 2000 {
			t.Errorf("service %s: client %v, server %+v", service, got, c)
		}
		if c.Errors < 150 || c.Errors > 250 || c.Resets < 30 || c.Resets > 90 || c.Closed < 15 || c.Closed > 65 {
			t.Errorf("service %s: shares are not as asked: %+v", service, c)
		}
	}
}

// A request that waited in the socket came before it was read.
func TestRequestCame(t *testing.T) {
	if !sock.Available {
		t.Skip("no kernel stamps here")
	}
	s, stop := start(t, Options{})
	dial(t, s, "GET / HTTP/1.1\r\n\r\n")
	await(t, s, "request", func(c Counts) bool { return c.OK == 1 })
	stop()
	if r := s.Truth().Records[0]; r.Came >= r.Arrival || r.Came < -time.Minute {
		t.Errorf("%+v", r)
	}
	d := newDesk(settings{}, 0, newAlarm())
	d.origin = time.Unix(100, 0)
	for came, want := range map[time.Time]uint32{{}: 0, time.Unix(99, 999e6): 3e6, time.Unix(101, 0): 0, time.Unix(0, 0): math.MaxUint32} {
		if got := d.unread(2*ms, came); got != want {
			t.Errorf("came %v: unread for %d ns, want %d", came, got, want)
		}
	}
}

// A half-open request is never answered, nor is one behind it, and the
// connection stays open until the server ends.
func TestHalfOpen(t *testing.T) {
	s, stop := start(t, Options{HalfOpenRate: 1})
	c, in := dial(t, s, "GET / HTTP/1.1\r\n\r\n")
	await(t, s, "half-open request", func(c Counts) bool { return c.HalfOpen == 1 })
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
	_ = c.SetReadDeadline(time.Now().Add(30 * ms))
	if _, err := in.ReadByte(); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("read: %v, want a timeout", err)
	}
	stop()
	if c := s.Truth().Counts; c.Requests != 1 || c.HalfOpen != 1 {
		t.Errorf("%+v", c)
	}
}

// An answer larger than any socket buffer reaches a slow client whole, and the
// connection goes on.
func TestLargeAnswer(t *testing.T) {
	for _, service := range []string{"0", "1ms"} {
		s, _ := start(t, Options{Size: new(16 << 20), Service: service})
		for range 2 {
			r, err := client(t).Get(s.URL())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * ms)
			if n, err := io.Copy(io.Discard, r.Body); n != 16<<20 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
			_ = r.Body.Close()
		}
	}
}

// Idle, half a request, waiting, served, hung and unread: all end at once, and
// no goroutine stays.
func TestShutdown(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, o := range []Options{
		{Service: "1h", Servers: 1}, {HalfOpenRate: 1}, {Size: new(64 << 20)}, {Size: new(64 << 20), Service: "1ms"},
		{Service: "1ms", Freeze: "10h/10.2h"},
	} {
		s, stop := start(t, o)
		_, _ = dial(t, s, "")
		_, _ = dial(t, s, "GET / HT")
		for range 3 {
			_, _ = dial(t, s, "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n")
		}
		await(t, s, "3 requests", func(c Counts) bool { return c.Requests >= 3 })
		stop() // a server that waits for an answer or a client never ends
		c := s.Truth().Counts
		if c.Requests != c.OK+c.Errors+c.Resets+c.HalfOpen+c.Unfinished {
			t.Errorf("%+v: %+v do not add up", o, c)
		}
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(ms) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// Serve with a context that has ended still closes the listener.
func TestServeEnded(t *testing.T) {
	s, stop := start(t, Options{})
	stop()
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://")); err == nil {
		t.Error("still listening")
	}
	if _, err := Listen(Options{Addr: "127.0.0.1:0", Truth: t.TempDir()}); err == nil {
		t.Error("a folder was taken for the truth file")
	}
}
