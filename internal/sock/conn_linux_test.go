package sock

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/nettest"
)

// quietPair is a quiet connection and its other end.
func quietPair(t *testing.T) (q *quiet, other net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if other, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return Quiet(c).(*quiet), other
}

// A quiet connection does what Go asks of every one: deadlines, closing, many callers.
func TestQuietConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		q, other := quietPair(t)
		return q, Quiet(other), func() {
			q.Close()
			other.Close()
		}, nil
	})
}

func TestQuietPieces(t *testing.T) {
	q, other := quietPair(t)
	r := rand.New(rand.NewPCG(1, 2))
	var pieces [][]byte
	var want []byte
	for i := range 3 * mostPieces {
		piece := make([]byte, r.IntN(4<<10)*(i%2)) // every second one is empty
		for j := range piece {
			piece[j] = byte(r.Uint32())
		}
		pieces, want = append(pieces, piece), append(want, piece...)
	}
	go func() {
		if n, err := q.WriteBuffers(pieces); n != int64(len(want)) || err != nil {
			t.Errorf("wrote %d of %d bytes: %v", n, len(want), err)
		}
		q.CloseWrite()
	}()
	time.Sleep(10 * time.Millisecond) // so that it has to wait for room
	got, err := io.ReadAll(Quiet(other))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d arrived, or others: %v", len(got), len(want), err)
	}
	if n, err := q.WriteBuffers(nil); n != 0 || err != nil {
		t.Errorf("nothing to write: %d, %v", n, err)
	}
}

func TestQuietTryWrite(t *testing.T) {
	q, other := quietPair(t)
	small, back := []byte("12345678"), make([]byte, 8)
	allocs := testing.AllocsPerRun(100, func() {
		if n := q.TryWrite(small); n != len(small) {
			t.Fatalf("wrote %d", n)
		}
		if _, err := other.Read(back); err != nil || !bytes.Equal(back, small) {
			t.Fatalf("%q, %v", back, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	huge := make([]byte, 64<<20)
	if n := q.TryWrite(huge); n <= 0 || n >= len(huge) {
		t.Errorf("wrote %d of %d bytes that nobody reads", n, len(huge))
	}
	if n := q.TryWrite(small); n != 0 {
		t.Errorf("wrote %d where there is no room", n)
	}
	q.Close()
	if n := q.TryWrite(small); n != 0 {
		t.Errorf("wrote %d on a closed connection", n)
	}
}

func TestQuietLook(t *testing.T) {
	q, other := quietPair(t)
	b := make([]byte, 8)
	if n := q.Look(b, time.Millisecond); n != 0 {
		t.Errorf("%d bytes of nothing", n)
	}
	time.AfterFunc(10*time.Millisecond, func() { _, _ = other.Write([]byte("1234")) })
	if n := q.Look(b, time.Minute); string(b[:n]) != "1234" {
		t.Errorf("found %q", b[:n])
	}
	for _, end := range []net.Conn{other, q} {
		end.Close()
		if n := q.Look(b, time.Minute); n != 0 {
			t.Errorf("%d bytes of a connection that has ended", n)
		}
	}
}

func TestQuietErrors(t *testing.T) {
	q, other := quietPair(t)
	_ = other.(*net.TCPConn).SetLinger(0)
	other.Close()
	_, err := q.Read(make([]byte, 1))
	var op *net.OpError
	if !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &op) || op.Op != "read" {
		t.Errorf("after a reset: %v", err)
	}
	q, _ = quietPair(t)
	_ = q.SetReadDeadline(time.Now())
	_, err = q.Read(make([]byte, 1))
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "read" {
		t.Errorf("after the deadline: %v", err)
	}
	q.Close()
	if _, err = q.Write([]byte{1}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
