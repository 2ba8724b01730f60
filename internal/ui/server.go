// Package ui serves the pages of takt ui: stored runs, and runs that go on, in a browser. It only reads.
package ui

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/pkg/takt"
)

// Limits of the server.
const (
	maxConns   = 128
	maxHeader  = 16 << 10
	maxQuery   = 8 << 10 // bytes
	headerTime = 5 * time.Second
	answerTime = time.Minute // for a page, and for a client to read it
	idleTime   = time.Minute // a connection without a request
	pageTime   = 30 * time.Second
	turnTime   = 10 * time.Second // wait for one of maxPages
	endTime    = time.Second      // what open answers get at the end of the server
	maxPages   = 4                // pages that are made at once: of the store, and of runs in progress
	maxUnread  = 256 << 20        // bytes of pages that clients have not read: a report may have 64 MiB
)

// Source is what the pages are about. Each function may be called by several goroutines.
type Source struct {
	// Runs returns at most n stored runs that match the filters, without the newest skip of them, and
	// whether there are more.
	Runs func(ctx context.Context, filters []string, skip, n int) (list []stored.Run, more bool, err error)
	// Report returns a checked report: of an id, the unique beginning of one, or @-1.
	Report func(ctx context.Context, id string) (*takt.Report, error)
	// History follows the metrics of the runs that match the filters.
	History func(ctx context.Context, filters []string) (history.History, error)
	// Live lists the runs that go on.
	Live func() ([]Live, error)
	// Watch returns what is known of a run of Live. The error is fs.ErrNotExist if it is over.
	Watch func(ctx context.Context, name string) (SoFar, error)
	// Absent reports whether an error says that there is no store yet.
	Absent func(error) bool
}

// SoFar is what is known of a run that goes on.
type SoFar struct {
	Report *takt.Report
	Ran    time.Duration // its length so far; 0: its first second is not over, and Report is nil
	Ended  bool          // its process has ended without a report
}

// turns has an element for each page that is being made.
type turns chan struct{}

// Server serves the pages.
type Server struct {
	source    Source
	listener  net.Listener
	address   string
	tokens    door.Tokens // nil: only for the user that runs takt
	tries     door.Tries
	unread    atomic.Int64 // bytes of pages that clients are reading
	turns     turns        // of pages of the store
	liveTurns turns        // of pages of runs in progress, which do not wait while the store does not answer
	peer      func(net.Conn) door.Peer
	pages     map[string]place
	calm      calm // pages of runs in progress
}

// Listen returns a server whose socket listens already. It does not repeat the checks of
// Options.Validate.
func Listen(o Options, source Source) (*Server, error) {
	s := &Server{source: source, turns: make(turns, maxPages), liveTurns: make(turns, maxPages), peer: door.PeerOf}
	s.pages = s.table()
	if o.TokenFile != "" {
		var err error
		if s.tokens, err = door.ReadTokens(o.TokenFile); err != nil {
			return nil, err
		}
	}
	return s, s.listen(o)
}

func (s *Server) listen(o Options) error {
	if path := o.unix(); path != "" {
		path, err := outfile.Follow(path)
		if err != nil {
			return fmt.Errorf("cannot listen: %w; give another --listen", err)
		}
		l, err := door.ListenUnix(path)
		if err != nil {
			return fmt.Errorf("%w; give another --listen", err)
		}
		s.listener, s.address = door.Limited(l, maxConns), unixPrefix+path
		return nil
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("%w; give another --listen, such as 127.0.0.1:0 for any free port", err)
	}
	s.listener, s.address = door.Limited(l, maxConns), "http://"+l.Addr().String()+"/"
	if o.Cert == "" {
		return nil
	}
	pair, err := door.Certificate(o.Cert, o.Key)
	if err != nil {
		_ = l.Close() // an error loses nothing
		return fmt.Errorf("the certificate cannot be read: %w; check --tls-cert and --tls-key", err)
	}
	s.listener = tls.NewListener(s.listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	s.address = "https://" + l.Addr().String() + "/"
	return nil
}

// Address is the URL of the pages, or unix: and the path of the socket.
func (s *Server) Address() string { return s.address }

// Serve serves until the context ends.
func (s *Server) Serve(ctx context.Context) error {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
	}
	return door.ServeHTTP(ctx, h, s.listener, endTime)
}
