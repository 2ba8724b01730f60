// Package h2test is an HTTP/2 server for tests of clients. It answers requests, or does what its
// script says instead, and notes what a client does against RFC 9113.
package h2test

import (
	"crypto/tls"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// Script is what a server does. The zero value answers every request with status 200 and "ok".
// All its functions run in the goroutine that reads the connection, so they may change what they
// share only under a lock of their own, and must not wait for the client.
type Script struct {
	TLS    bool
	Protos []string // offered by the TLS server; nil: h2

	Greet   func(c *Conn)                    // follows the client's preface; nil: empty SETTINGS
	Open    func(c *Conn, r *Request)        // follows the header block of a request; nil: nothing
	Data    func(c *Conn, r *Request, n int) // follows n bytes of a request's body; nil: Conn.Return
	Request func(c *Conn, r *Request)        // follows the end of a request; nil: Conn.Answer
	Ack     func(c *Conn)                    // follows an acknowledgment of SETTINGS; nil: nothing
	Reset   func(c *Conn, r *Request)        // follows RST_STREAM; nil: nothing
	Pong    func(c *Conn)                    // follows an acknowledgment of PING; nil: nothing
	Deaf    func(c *Conn) bool               // true: read nothing more of this connection; nil: never
}

// Server is a running server on the loopback interface.
type Server struct {
	Addr string

	script   Script
	listener net.Listener
	tls      *tls.Config // nil: without TLS
	end      chan struct{}
	running  sync.WaitGroup

	mu       sync.Mutex
	conns    []*Conn // with a complete preface
	requests int
	faults   []string
}

// Start starts a server that lives as long as the test.
func Start(t testing.TB, s Script) *Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &Server{Addr: l.Addr().String(), script: s, listener: l, end: make(chan struct{})}
	if s.TLS {
		server.tls = certified(s.Protos)
	}
	server.running.Go(server.accept)
	t.Cleanup(server.close)
	return server
}

// certified is a TLS server's configuration with the certificate of httptest.
func certified(protos []string) *tls.Config {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	if protos == nil {
		protos = []string{"h2"}
	}
	return &tls.Config{Certificates: s.TLS.Certificates, NextProtos: protos}
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() { s.serve(c) })
	}
}

func (s *Server) close() {
	close(s.end)
	s.listener.Close()
	s.mu.Lock()
	for _, c := range s.conns {
		c.raw.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// URL is the address of the server with its scheme.
func (s *Server) URL() string {
	if s.tls != nil {
		return "https://" + s.Addr + "/"
	}
	return "http://" + s.Addr + "/"
}

// Conns are the connections that sent a complete preface, in that order. Their counts are
// complete after Settle.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Conn(nil), s.conns...)
}

// Seen are the counts of all connections together.
func (s *Server) Seen() Seen {
	total := newSeen()
	for _, c := range s.Conns() {
		seen := c.Seen()
		total.add(&seen)
	}
	return total
}

// Requests is how many requests came so far, on all connections.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Faults are what clients did against RFC 9113.
func (s *Server) Faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults
}

// Settle waits until every connection has ended, so that the counts are complete. It is false if
// a client leaves one open.
func (s *Server) Settle(patience time.Duration) bool {
	limit := time.After(patience)
	for _, c := range s.Conns() {
		select {
		case <-c.ended:
		case <-c.deaf:
		case <-limit:
			return false
		}
	}
	return true
}

func (s *Server) fault(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, text)
}

func (s *Server) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	return s.requests
}

// Seen counts what the server received on a connection, and what it answered.
type Seen struct {
	Streams      int    // opened
	Highest      uint32 // id of a stream
	MaxOpen      int    // streams at once
	Answered     int    // streams that the server ended with END_STREAM
	Body         int    // bytes of requests
	Resets       map[http2.ErrCode]int
	GoAways      map[http2.ErrCode]int
	SettingsAcks int
	PingAcks     int
	Windows      int // WINDOW_UPDATE
}

func newSeen() Seen {
	return Seen{Resets: map[http2.ErrCode]int{}, GoAways: map[http2.ErrCode]int{}}
}

func (s *Seen) add(o *Seen) {
	s.Streams += o.Streams
	s.Highest, s.MaxOpen = max(s.Highest, o.Highest), max(s.MaxOpen, o.MaxOpen)
	s.Answered += o.Answered
	s.Body += o.Body
	s.SettingsAcks += o.SettingsAcks
	s.PingAcks += o.PingAcks
	s.Windows += o.Windows
	for code, n := range o.Resets {
		s.Resets[code] += n
	}
	for code, n := range o.GoAways {
		s.GoAways[code] += n
	}
}
