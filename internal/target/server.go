package target

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/pause"
)

// Server is a bound target. Serve it once; it ends with Serve.
type Server struct {
	listener *net.TCPListener
	desk     *desk
	conns    roster
	file     *outfile.File // for the truth; nil: not wanted
	null     *null         // serves instead of the desk; nil: not wanted
	tls      *tls.Config   // nil: plain
}

// Listen binds the address and opens the truth file. The error joins every
// fault of the options, or is the one of the system.
func Listen(o Options) (*Server, error) {
	set, faults := o.settings()
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	listener, err := net.Listen("tcp", set.addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w; choose another --addr, or port 0 for any free one", err)
	}
	s := &Server{listener: listener.(*net.TCPListener), desk: newDesk(set, o.Servers, newAlarm())}
	if o.TLS {
		if s.tls, err = selfSigned(listener.Addr(), set.speaksH2); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	if o.Null {
		s.null = newNull(set.null)
	}
	if o.Truth == "" {
		return s, nil
	}
	if s.file, err = outfile.Open(o.Truth); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the truth: %w; choose another --truth", err), listener.Close())
	}
	return s, nil
}

// URL is where the server is reached, such as http://127.0.0.1:8080.
func (s *Server) URL() string {
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// Truth is what the server did so far, or in all once Serve has returned. It
// copies up to 1<<20 records while requests wait (some 20 ms), so ask a server
// under load at its end.
// Of the null server it has counts alone.
func (s *Server) Truth() *Truth {
	if s.null != nil {
		return s.null.truth()
	}
	return s.desk.truth()
}

// Requests is how many requests have come so far. It is cheap, but of the null server it is 0.
func (s *Server) Requests() uint64 {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	return s.desk.books.counts.Requests
}

// Serve serves until ctx ends. Then it closes every connection at once, also
// those with requests under way, and writes the truth file.
func (s *Server) Serve(ctx context.Context) error {
	if s.null != nil {
		return s.null.serve(ctx, s.listener)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.listener.Close() })
	defer stop()
	var running sync.WaitGroup
	running.Go(s.desk.dispatch)
	err := s.accept(ctx, &running)
	s.desk.close()
	s.conns.close()
	running.Wait()
	return errors.Join(err, s.writeTruth())
}

// accept takes connections until the listener is closed.
func (s *Server) accept(ctx context.Context, running *sync.WaitGroup) error {
	for {
		tcp, err := s.listener.AcceptTCP()
		switch {
		case err == nil:
			s.welcome(tcp, running)
		case ctx.Err() != nil:
			return nil
		case passing(err):
			s.desk.acceptFailed()
			pause.For(10*time.Millisecond, ctx.Done()) // file descriptors come back when connections end
		default:
			return errors.Join(fmt.Errorf("cannot accept connections: %w", err), s.listener.Close())
		}
	}
}

// passing tells errors that may be over soon.
func passing(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED)
}

// welcome serves a connection in a goroutine of its own.
func (s *Server) welcome(tcp *net.TCPConn, running *sync.WaitGroup) {
	c, err := newConn(tcp, s.desk, s.tls)
	if err != nil || !s.conns.add(c) {
		_ = tcp.Close()
		return
	}
	running.Go(func() {
		defer s.conns.remove(c)
		c.serve()
	})
}

// writeTruth writes the file that was asked for.
func (s *Server) writeTruth() error {
	if s.file == nil {
		return nil
	}
	if err := s.Truth().write(s.file); err != nil {
		s.file.Discard()
		return err
	}
	return s.file.Close()
}

// roster is the set of open connections.
type roster struct {
	mu     sync.Mutex
	conns  map[*conn]bool
	closed bool
}

// add reports false when the server is closing.
func (r *roster) add(c *conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns == nil {
		r.conns = map[*conn]bool{}
	}
	r.conns[c] = true
	return !r.closed
}

func (r *roster) remove(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

// close closes every connection; their goroutines end by themselves.
func (r *roster) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for c := range r.conns {
		if m := c.muxed.Load(); m != nil {
			m.bye()
		}
		_ = c.Close()
	}
}
