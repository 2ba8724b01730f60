package shell

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/sandbox"
)

// maxImmediate limits the commands of takt that run beside the queue, of all sessions.
const maxImmediate = 4

// Limits of sessions that have not sent their token yet. A script sends its token within
// a round trip, so only a flood comes near the limits.
const (
	maxGuests          = 128
	maxGuestsOfAddress = 32
)

// newLobby is where sessions wait that have not sent their token yet.
func newLobby() *door.Lobby { return &door.Lobby{Most: maxGuests, MostOf: maxGuestsOfAddress} }

// Server is a shell that serves.
type Server struct {
	options   Options
	host      Host
	rights    atomic.Pointer[rights]
	tries     door.Tries
	strangers door.Tries // who is logged without a token
	state     *state
	queue     *queue
	listeners []net.Listener
	http      net.Listener // of the API; nil: none
	immediate chan struct{}
	sessions  atomic.Int64 // number of the newest session
	lobby     *door.Lobby  // of sessions that have not sent their token yet
	seats     seats
	peer      func(net.Conn) door.Peer // the user at the other end of a connection
	audit     *audit                   // nil: no audit log
	box       *sandbox.Sandbox         // of checkouts; nil: none
	boxNotes  []string                 // what the sandbox lacks
	patience  time.Duration            // how long the end of the server waits for sessions
}

// Listen returns a server whose sockets listen already. It does not repeat the checks of
// Options.Validate.
func Listen(o Options, h Host) (*Server, error) {
	s := &Server{
		options: o, host: h,
		immediate: make(chan struct{}, maxImmediate), patience: 2 * immediateGrace,
		peer: door.PeerOf, lobby: newLobby(),
	}
	if err := s.prepare(); err != nil {
		if s.state != nil {
			s.state.close()
		}
		_ = s.box.Close() // the first error is the cause
		return nil, err
	}
	if err := s.listen(); err != nil {
		s.closeListeners()
		s.state.close()
		_ = s.box.Close()   // the first error is the cause
		_ = s.audit.close() // an error loses nothing: no line was written
		return nil, err
	}
	return s, nil
}

func (s *Server) prepare() (err error) {
	if s.options.DumpDir, err = outfile.Follow(s.options.DumpDir); err != nil {
		return fmt.Errorf("cannot write the folder for files: %w; give another --dump-dir", err)
	}
	if err := os.MkdirAll(s.options.DumpDir, 0o700); err != nil {
		return fmt.Errorf("cannot create the folder for files: %w; give another --dump-dir", err)
	}
	for name, path := range map[string]*string{"audit-log": &s.options.AuditLog, "unix": &s.options.Unix} { // a confined process does not see where links lead
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err == nil { // a relative name would be one of the folder for files, where sessions write
			*path, err = outfile.Follow(*path)
		}
		if err != nil {
			return fmt.Errorf("cannot write: %w; check --%s", err, name)
		}
	}
	if s.host.Confine != nil {
		if _, err := s.host.Confine(s.options.DumpDir); err != nil {
			return fmt.Errorf("%w; give another --dump-dir", err)
		}
	}
	if s.state, err = openState(s.options.StateDir); err != nil {
		return err
	}
	s.state.docker, s.state.variables, s.state.usable = s.host.Docker, s.options.Variables, s.loadable
	if err := s.Reload(); err != nil {
		return err
	}
	if err := s.openSandbox(); err != nil {
		return err
	}
	s.state.box = s.box
	s.audit, err = openAudit(s.options.AuditLog)
	return err
}

func (s *Server) listen() error {
	if s.options.Addr != "" {
		l, err := s.listenTCP(s.options.Addr, "--addr", func(l net.Listener) net.Listener { return l })
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, l)
	}
	if s.options.Unix != "" {
		l, err := door.ListenUnix(s.options.Unix)
		if err != nil {
			return fmt.Errorf("%w; give another --unix", err)
		}
		s.listeners = append(s.listeners, l)
	}
	if s.options.HTTP != "" {
		l, err := s.listenTCP(s.options.HTTP, "--http", func(l net.Listener) net.Listener { return door.Limited(l, maxAPIConns) })
		if err != nil {
			return err
		}
		s.http = l
	}
	return nil
}

// listenTCP listens on an address, with TLS above limit if there is a certificate.
func (s *Server) listenTCP(addr, flag string, limit func(net.Listener) net.Listener) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w; give another %s", err, flag)
	}
	l = limit(l)
	if s.options.Cert == "" {
		return l, nil
	}
	pair, err := door.Certificate(s.options.Cert, s.options.Key)
	if err != nil {
		_ = l.Close() // an error loses nothing
		return nil, fmt.Errorf("the certificate cannot be read: %w; check --tls-cert and --tls-key", err)
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}), nil
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		_ = l.Close() // an error loses nothing
	}
	if s.http != nil {
		_ = s.http.Close()
	}
}

// Addrs are the addresses of the listeners: TCP first, then the path of the unix socket, then the
// URL of the API.
func (s *Server) Addrs() (list []string) {
	for _, l := range s.listeners {
		if u, ok := l.(*door.UnixListener); ok {
			list = append(list, u.Path)
			continue
		}
		list = append(list, l.Addr().String())
	}
	if s.http != nil {
		scheme := "http://"
		if s.options.Cert != "" {
			scheme = "https://"
		}
		list = append(list, scheme+s.http.Addr().String())
	}
	return list
}

// Notes are hints for whoever starts the server.
func (s *Server) Notes() []string {
	notes := slices.Concat(s.options.Notes(), s.boxNotes, s.folderNotes())
	if s.state.shared {
		notes = append(notes, "another server uses the folder "+s.state.dir+": the jobs of this one end with it; set XDG_STATE_HOME to another folder to keep them")
	}
	return notes
}

// Serve serves until the context ends, then stops the running job gracefully and waits
// for it. Closing abort ends that job at once.
func (s *Server) Serve(ctx context.Context, abort <-chan struct{}) error {
	jobs, stop := context.WithCancel(context.WithoutCancel(ctx)) // the queue ends the jobs, not ctx
	defer stop()
	s.queue = newQueue(jobs, s.state.output(), s.state.saveJobs)
	s.restore()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, l := range s.listeners {
		all.Go(func() { cancel(s.accept(ctx, l, &all)) })
	}
	if s.http != nil {
		all.Go(func() { cancel(newAPI(s).run(ctx, s.http)) })
	}
	<-ctx.Done()
	s.closeListeners()
	s.queue.close()
	s.await(&all)
	ended := make(chan struct{})
	go func() {
		s.queue.jobs.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-abort:
		s.queue.kill()
		<-ended
	}
	s.state.close()
	return errors.Join(context.Cause(ctx), s.audit.close(), s.box.Close())
}

// await waits for the sessions, but not for ever: one that hangs in a call of the system must not keep
// the server from its end.
func (s *Server) await(all *sync.WaitGroup) {
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	pause.For(s.patience, ended)
}

// accept serves connections until the listener is closed. When the process has no file
// descriptors left, it tries again every 100 ms.
func (s *Server) accept(ctx context.Context, l net.Listener, all *sync.WaitGroup) error {
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return context.Cause(ctx)
		case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED):
			pause.For(100*time.Millisecond, ctx.Done())
			continue
		case err != nil:
			return err
		}
		all.Go(func() { newSession(s, ctx, conn).serve() })
	}
}
