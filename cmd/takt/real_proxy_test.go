//go:build real

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// middle is a TCP proxy between takt and a server. A test breaks it, or the command of a --fault does.
type middle struct {
	t        *testing.T
	addr, to string
	control  net.Listener // accepts one word per connection

	mu    sync.Mutex
	turn  *sync.Cond // the mode changed
	mode  string
	front net.Listener // nil: connections are refused
	links map[net.Conn]bool
	all   sync.WaitGroup
}

// The modes of a middle.
const (
	modePass   = "pass"
	modeCut    = "cut"    // resets all connections; new ones pass
	modeHole   = "hole"   // accepts everything, and passes nothing on until the next mode
	modeRefuse = "refuse" // resets all connections, and nobody listens
	modeHalf   = "half"   // passes on half of the next answer, and nothing more of its connection
)

// between starts a proxy in front of the server at the address to.
func between(t *testing.T, to string) *middle {
	t.Helper()
	m := &middle{t: t, to: to, mode: modePass, links: map[net.Conn]bool{}}
	m.turn = sync.NewCond(&m.mu)
	var err error
	if m.front, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if m.control, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	m.addr = m.front.Addr().String()
	m.all.Go(func() { m.accept(m.front) })
	m.all.Go(m.listen)
	t.Cleanup(func() {
		_ = m.control.Close()
		m.become(modeRefuse)
		m.all.Wait()
	})
	return m
}

// command is what --fault runs to change the mode.
func (m *middle) command(mode string) string {
	host, port, _ := net.SplitHostPort(m.control.Addr().String())
	return fmt.Sprintf("bash -c 'echo %s >/dev/tcp/%s/%s'", mode, host, port)
}

func (m *middle) listen() {
	for {
		c, err := m.control.Accept()
		if err != nil {
			return
		}
		word, _ := bufio.NewReader(c).ReadString('\n')
		_ = c.Close()
		m.become(strings.TrimSpace(word))
	}
}

// become changes the mode.
func (m *middle) become(mode string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.turn.Broadcast()
	m.mode = mode
	if mode == modeCut || mode == modeRefuse {
		for c := range m.links {
			reset(c)
		}
		clear(m.links)
	}
	if mode == modeRefuse && m.front != nil {
		_ = m.front.Close()
		m.front = nil
	}
	if mode != modeRefuse && m.front == nil {
		front, err := net.Listen("tcp", m.addr)
		if err != nil {
			m.t.Error(err)
			return
		}
		m.front = front
		m.all.Go(func() { m.accept(front) })
	}
}

// reset closes a connection with an RST.
func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

func (m *middle) accept(front net.Listener) {
	for {
		in, err := front.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", m.to)
		if err != nil {
			reset(in)
			continue
		}
		m.mu.Lock()
		m.links[in], m.links[out] = true, true
		m.mu.Unlock()
		m.all.Go(func() { m.pass(out, in, false) })
		m.all.Go(func() { m.pass(in, out, true) })
	}
}

// pass copies from one side to the other until one of them ends. answers: from is the server.
func (m *middle) pass(to, from net.Conn, answers bool) {
	defer func() {
		_, _ = to.Close(), from.Close()
		m.mu.Lock()
		delete(m.links, to)
		delete(m.links, from)
		m.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			n, err = m.gate(n, answers, err)
			if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// gate waits while nothing may pass, and returns how many of n bytes may pass then.
func (m *middle) gate(n int, answers bool, err error) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.mode == modeHole {
		m.turn.Wait()
	}
	if m.mode == modeHalf && answers {
		m.mode = modeHole
		return n / 2, err
	}
	if m.mode == modeRefuse {
		return 0, io.ErrClosedPipe
	}
	return n, err
}
