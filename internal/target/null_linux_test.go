package target

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taktload/takt/internal/sock"
)

const nullGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// Requests are told apart wherever the network cuts them.
func TestNullTakesPieces(t *testing.T) {
	text := nullGet + "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n\r\n\r\nGET /" + nullGet + nullGet
	for size := 1; size <= len(text); size++ {
		n := newNull(nullAnswer(3))
		var c nullConn
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			n.take(&c, []byte(rest[:min(size, len(rest))]))
		}
		if n.served != 4 || c.owed != 4*int64(n.answer) || len(c.head) != 0 || c.ended {
			t.Errorf("pieces of %d: %d requests, %d bytes owed, %d left over", size, n.served, c.owed, len(c.head))
		}
	}
}

// What was sent of an answer is not sent again, wherever a batch ends.
func TestNullRest(t *testing.T) {
	n := newNull([]byte("abc"))
	n.batch = n.batch[:9] // three answers
	want := strings.Repeat("abc", 40)
	for step := 1; step < 12; step++ {
		var got strings.Builder
		for owed := int64(len(want)); owed > 0; {
			out := n.rest(owed)
			out = out[:min(step, len(out))] // as much as there was room for
			got.Write(out)
			owed -= int64(len(out))
		}
		if got.String() != want {
			t.Errorf("steps of %d: %q", step, &got)
		}
	}
}

// pair is a connection of n and its other end.
func pair(t *testing.T, n *null) (fd, other int) {
	t.Helper()
	p, err := sock.NewPoller()
	if err != nil {
		t.Fatal(err)
	}
	n.poll = p
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	n.welcome(fds[0])
	t.Cleanup(func() {
		n.close(fds[0])
		sock.Close(fds[1])
		p.Close()
	})
	return fds[0], fds[1]
}

func TestNullAllocatesNothing(t *testing.T) {
	n := newNull(nullAnswer(100))
	fd, other := pair(t, n)
	// One request, two, and one in two pieces; and an answer for each.
	for _, pieces := range [][]string{{nullGet}, {nullGet + nullGet}, {nullGet[:20], nullGet[20:]}} {
		in := make([]byte, 1000)
		before := n.served
		allocs := testing.AllocsPerRun(100, func() {
			for _, piece := range pieces {
				copy(in, piece)
				if _, errno := sock.Send(other, in[:len(piece)]); errno != 0 {
					t.Fatal(errno)
				}
				n.ready(fd, sock.Event{Read: true})
			}
			if _, errno := sock.Receive(other, in); errno != 0 {
				t.Fatal(errno)
			}
		})
		if allocs != 0 || n.served == before {
			t.Errorf("%d pieces: %v allocations, %d requests", len(pieces), allocs, n.served-before)
		}
	}
}

// Who has sent all its requests and does not read yet gives the poller nothing to
// report; else the thread would spin until it reads.
func TestNullLetsTheSlowSleep(t *testing.T) {
	n := newNull(nullAnswer(4 << 20))
	fd, other := pair(t, n)
	if _, errno := sock.Send(other, []byte(nullGet)); errno != 0 {
		t.Fatal(errno)
	}
	if err := unix.Shutdown(other, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	var events [4]sock.Event
	rounds := 0
	for n.poll.Wait(0, events[:]) > 0 && rounds < 100 {
		n.ready(fd, events[0])
		rounds++
	}
	if c := n.conns[fd]; rounds == 100 || !c.open || !c.ended || c.owed == 0 {
		t.Errorf("%d rounds, %+v", rounds, c.watched)
	}
	in, got := make([]byte, 1<<20), 0
	for n.conns[fd].open {
		part, errno := sock.Receive(other, in)
		if errno != 0 && errno != sock.Again {
			t.Fatal(errno)
		}
		got += part
		if n.poll.Wait(0, events[:]) > 0 {
			n.ready(fd, events[0])
		}
	}
	for part := 1; part > 0; got += part {
		part, _ = sock.Receive(other, in)
	}
	if got != n.answer {
		t.Errorf("%d bytes, want %d", got, n.answer)
	}
}

func TestNullServes(t *testing.T) {
	s, stop := start(t, Options{Null: true, Size: new(7)})
	c, in := dial(t, s, "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n12")
	_, _ = io.WriteString(c, "345"+nullGet+nullGet[:9])
	_, _ = io.WriteString(c, nullGet[9:]+"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
	text, err := io.ReadAll(in)
	if want := strings.Repeat(string(nullAnswer(7)), 4); string(text) != want || err != nil {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	stop()
	if c := s.Truth().Counts; c != (Counts{Requests: 4, OK: 4}) {
		t.Errorf("%+v", c)
	}
}

// What cannot be told apart from the next request is refused after the answers to
// those before it; nothing behind it is answered.
func TestNullRefuses(t *testing.T) {
	s, stop := start(t, Options{Null: true})
	for text, status := range map[string]int{
		"HEAD / HTTP/1.1\r\n\r\n":                                    501,
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n": 411,
		"nonsense\r\n": 400,
		"GET /" + strings.Repeat("x", maxHead+100): 431,
	} {
		c, in := dial(t, s, nullGet+text+nullGet)
		_ = c.(*net.TCPConn).CloseWrite()
		got, err := io.ReadAll(in)
		if want := string(nullAnswer(100)) + string(nullRefusal(status)); string(got) != want || err != nil {
			t.Errorf("%.20q: %q, %v; want %q", text, got, err, want)
		}
	}
	stop()
	if c := s.Truth().Counts; c != (Counts{Requests: 4, OK: 4, Malformed: 4}) {
		t.Errorf("%+v", c)
	}
}

func TestNullManyConnections(t *testing.T) {
	s, stop := start(t, Options{Null: true})
	got := load(t, s.URL(), 1000, 5)
	stop()
	if c := s.Truth().Counts; got[200] != 5000 || c != (Counts{Requests: 5000, OK: 5000}) {
		t.Errorf("client %v, server %+v", got, c)
	}
}

// An answer larger than any buffer reaches who reads slowly whole; also who has
// said that no more requests come.
func TestNullLargeAnswers(t *testing.T) {
	s, _ := start(t, Options{Null: true, Size: new(4 << 20)})
	c, in := dial(t, s, nullGet+nullGet+nullGet)
	_ = c.(*net.TCPConn).CloseWrite()
	await(t, s, "3 requests", func(c Counts) bool { return c.Requests == 3 })
	text, err := io.ReadAll(in)
	if string(text) != strings.Repeat(string(nullAnswer(4<<20)), 3) || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// Clients that leave in the middle take nobody else along.
func TestNullClientsThatLeave(t *testing.T) {
	s, stop := start(t, Options{Null: true, Size: new(4 << 20)})
	const leavers = 20
	for i := range leavers {
		c, _ := dial(t, s, nullGet+nullGet)
		await(t, s, "its request", func(c Counts) bool { return c.Requests >= uint64(i+1) })
		if i%2 == 0 {
			_ = c.(*net.TCPConn).SetLinger(0) // a reset instead of an end
		}
		_ = c.Close()
	}
	r, err := client(t).Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if n, err := io.Copy(io.Discard, r.Body); n != 4<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	stop()
}

// Whatever the connections do, Serve ends and leaves nothing behind.
func TestNullShutdown(t *testing.T) {
	for round := range 3 { // the first one opens what Go keeps
		goroutines, files := runtime.NumGoroutine(), openFiles(t)
		s, stop := start(t, Options{Null: true, Size: new(4 << 20)})
		for _, text := range []string{"", "GET / HT", nullGet, nullGet + nullGet, "HEAD / HTTP/1.1\r\n\r\n"} {
			c, _ := dial(t, s, text)
			defer func() { _ = c.Close() }()
			files++ // its own end
		}
		await(t, s, "the requests", func(c Counts) bool { return c.Requests == 3 && c.Malformed == 1 })
		stop()
		for end := time.Now().Add(patience); runtime.NumGoroutine() > goroutines || round > 0 && openFiles(t) > files; time.Sleep(ms) {
			if time.Now().After(end) {
				t.Fatalf("%d goroutines, %d before; %d files, want %d", runtime.NumGoroutine(), goroutines, openFiles(t), files)
			}
		}
		if _, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://")); err == nil {
			t.Error("still listening")
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// Without a free descriptor a connection waits, and that is counted.
func TestNullWithoutDescriptors(t *testing.T) {
	s, stop := start(t, Options{Null: true})
	_ = post(client(t), s.URL()) // all that Go opens on first use is open
	var was, few unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	few = was
	few.Cur = 200
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &was) }()
	var taken []int
	for {
		fd, err := unix.Dup(0)
		if errors.Is(err, syscall.EMFILE) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, fd)
	}
	sock.Close(taken[0]) // the client's end
	taken = taken[1:]
	c, in := dial(t, s, nullGet)
	defer func() { _ = c.Close() }()
	await(t, s, "an error", func(c Counts) bool { return c.AcceptErrors > 0 })
	for _, fd := range taken {
		sock.Close(fd)
	}
	got := make([]byte, len(nullAnswer(100)))
	if _, err := io.ReadFull(in, got); err != nil || string(got) != string(nullAnswer(100)) {
		t.Errorf("%q, %v", got, err)
	}
	stop()
}

// A client of net/http is served as any other.
func TestNullHTTPClient(t *testing.T) {
	s, _ := start(t, Options{Null: true, Size: new(1 << 10)})
	r, err := client(t).Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if len(body) != 1024 || err != nil || r.StatusCode != http.StatusOK || fmt.Sprint(r.Header) != "map[Content-Length:[1024]]" {
		t.Errorf("%v %v, %d bytes, %v", r.Status, r.Header, len(body), err)
	}
}
