package sock

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/nettest"
)

// A stamped connection does what Go asks of every one: deadlines, closing, many callers.
func TestStampedConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		q, other := quietPair(t)
		s := Stamped(q.TCPConn)
		return s, Stamped(other), func() {
			s.Close()
			other.Close()
		}, nil
	})
}

// wrapped has what countedConn and tls.Conn have.
type wrapped struct{ net.Conn }

func (w wrapped) NetConn() net.Conn { return w.Conn }

// However late bytes are read, they arrived when they came.
func TestStampedArrived(t *testing.T) {
	q, other := quietPair(t)
	s := Stamped(q.TCPConn)
	if at := Arrived(s); !at.IsZero() {
		t.Errorf("nothing came, at %v", at)
	}
	b := make([]byte, 8)
	right := 0
	for range 10 {
		before := time.Now()
		if _, err := other.Write([]byte("12345678")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond) // nobody reads
		after := time.Now()
		if n, err := s.Read(b); n != 8 || err != nil {
			t.Fatal(n, err)
		}
		at := Arrived(s)
		for name, c := range map[string]net.Conn{"wrapped": wrapped{s}, "TLS": tls.Client(s, &tls.Config{ServerName: "x"})} {
			if in := Arrived(c); !in.Equal(at) {
				t.Errorf("%s: arrived at %v, bare at %v", name, in, at)
			}
		}
		// time.Now reads two clocks; a thread that loses its core between them is off by that long.
		if off := time.Millisecond; at.Before(before.Add(-off)) || at.After(after.Add(off-5*time.Millisecond)) {
			t.Logf("arrived %v after it was written, %v before it was read", at.Sub(before), after.Sub(at))
			continue
		}
		right++
	}
	if right < 3 {
		t.Errorf("%d of 10 arrivals are right", right)
	}
	if at := Arrived(other); !at.IsZero() {
		t.Errorf("a plain connection knows that something arrived at %v", at)
	}
	before := time.Now()
	other.Close()
	if n, err := s.Read(b); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if Arrived(s).Before(before) {
		t.Error("the end came before the other side closed")
	}
}

func TestStampedAllocatesNothing(t *testing.T) {
	q, other := quietPair(t)
	s, b := Stamped(q.TCPConn), make([]byte, 8)
	if allocs := testing.AllocsPerRun(100, func() {
		_, _ = other.Write(b)
		_, _ = s.Read(b)
	}); allocs != 0 {
		t.Errorf("%v allocations a read", allocs)
	}
}

func TestStampedErrors(t *testing.T) {
	q, other := quietPair(t)
	s := Stamped(q.TCPConn)
	_ = other.(*net.TCPConn).SetLinger(0)
	other.Close()
	_, err := s.Read(make([]byte, 1))
	var op *net.OpError
	if !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &op) || op.Op != "read" {
		t.Errorf("after a reset: %v", err)
	}
	q, _ = quietPair(t)
	s = Stamped(q.TCPConn)
	_ = s.SetReadDeadline(time.Now())
	if _, err = s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "read" {
		t.Errorf("after the deadline: %v", err)
	}
	pipe, _ := net.Pipe()
	if Stamped(pipe) != pipe {
		t.Error("what is no TCP socket is wrapped")
	}
}

func BenchmarkRead(b *testing.B) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"net": func(c net.Conn) net.Conn { return c }, "stamped": Stamped, "quiet": Quiet,
	} {
		b.Run(name, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			other, err := l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			defer other.Close()
			c, p := wrap(c), make([]byte, 100)
			for b.Loop() {
				_, _ = other.Write(p)
				_, _ = c.Read(p)
			}
		})
	}
}
