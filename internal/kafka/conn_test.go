package kafka

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// written is a connection that keeps what is written.
type written struct {
	net.Conn
	*bytes.Buffer
}

func (w written) Write(b []byte) (int, error) { return w.Buffer.Write(b) }
func (w written) Read(b []byte) (int, error)  { return w.Buffer.Read(b) }

// gathering is one that takes pieces.
type gathering struct{ written }

func (g *gathering) WriteBuffers(pieces [][]byte) (n int64, err error) {
	for _, piece := range pieces {
		m, _ := g.Buffer.Write(piece) // it never fails
		n += int64(m)
	}
	return n, nil
}

func connTo(out *bytes.Buffer, gathers bool) *Conn {
	c := &Conn{Conn: written{Buffer: out}, version: Newest, Protocol: &Protocol{ClientID: "takt", Topic: "topic", Acks: -1, Timeout: 1500 * time.Millisecond}}
	if gathers {
		c.Conn = &gathering{written{Buffer: out}}
	}
	c.in = bufio.NewReader(c.Conn)
	return c
}

// What is no answer of Kafka's is refused before memory is made for it.
func TestNoAnswer(t *testing.T) {
	answer := func(size, number uint32, body string) string {
		head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, size), number)
		return string(head) + body
	}
	for _, c := range []struct{ answer, want string }{
		{"HTTP/1.1 400 Bad Request\r\n", "none of Kafka's"},
		{answer(1, 0, ""), "none of Kafka's"},
		{answer(1<<31-1, 0, ""), "none of Kafka's"},
		{answer(4, 5, ""), "answers request 5 where request 0 is the oldest"},
		{answer(8, 0, "ab"), "unexpected EOF"},
		{answer(8, 0, "\x7f\xff\xff\xff"), "enough data"},
	} {
		_, err := connTo(bytes.NewBufferString(c.answer), false).receive()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.answer, err, c.want)
		}
	}
}

// A broker that says nothing holds up nobody for longer than ctx allows.
func TestOpenEnds(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := (&Protocol{}).Open(ctx, ours, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want that the time is over", err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		_, _ = connTo(bytes.NewBuffer(answer), false).receive() // must not panic
	})
}
