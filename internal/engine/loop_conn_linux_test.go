package engine

import (
	"syscall"
	"testing"

	"github.com/taktload/takt/internal/sock"
)

// narrow is a system whose sockets have room for so many bytes.
type narrow struct {
	sock.System
	room    int
	watched []bool // for writing, call by call
}

func (s *narrow) Send(_ int, b []byte) (n int, errno syscall.Errno) { return min(len(b), s.room), 0 }
func (s *narrow) Close(int)                                         {}
func (s *narrow) Resent(int) uint64                                 { return 0 }
func (s *narrow) Watch(_ int, _ int32, write bool) error {
	s.watched = append(s.watched, write)
	return nil
}

// A request that waits for room is counted until it is sent or its connection is closed.
func TestPartialRequests(t *testing.T) {
	sys := &narrow{room: 2}
	l := &loop{m: &loops{flow: new(flow)}, sys: sys, links: links{partial: 2}}
	sent, dropped := &lconn{fd: 3, waits: true, unsent: []byte("abc")}, &lconn{fd: 4, waits: true, unsent: []byte("abc")}
	if l.sendRest(sent); l.partial != 2 || string(sent.unsent) != "c" || len(sys.watched) != 0 {
		t.Errorf("%d requests wait, %q is left, watched %v", l.partial, sent.unsent, sys.watched)
	}
	if l.sendRest(sent); l.partial != 1 || len(sys.watched) != 1 || sys.watched[0] || sent.own.res.BytesSent != 3 {
		t.Errorf("%d requests wait, %d bytes were sent, watched %v", l.partial, sent.own.res.BytesSent, sys.watched)
	}
	l.drop(sent)
	if l.drop(dropped); l.partial != 0 || dropped.fd != -1 || dropped.unsent != nil {
		t.Errorf("%d requests wait, %+v", l.partial, dropped)
	}
}
