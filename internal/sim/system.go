package sim

import (
	"net/netip"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/sock"
)

// system implements sock.System for one thread.
type system struct {
	*world
	watched map[int]*watch // by descriptor
	order   []int          // the descriptors as they were added: a map has no order, so a seed could not decide
	woken   bool
	over    bool
}

// watch is a connection in the poller.
type watch struct {
	c     *conn
	token int32
	write bool
}

// The virtual time that system calls take. callMiss is a read that finds nothing.
const (
	callSend    = 1500 * time.Nanosecond
	callRead    = 700 * time.Nanosecond
	callMiss    = 300 * time.Nanosecond
	callConnect = 20 * time.Microsecond
	callOther   = 500 * time.Nanosecond
)

// open returns the connection of a descriptor. A call on a closed descriptor is a fault of the
// engine: by then it may belong to another connection.
func (s *system) open(call string, fd int) *conn {
	c := s.net.conns[fd]
	if c == nil {
		s.report.fault("descriptor", "%s of %d, which is not open", call, fd)
	}
	return c
}

func (s *system) Sleep(d time.Duration) {
	s.note("sleep", 0, int(d))
	s.sleep(min(d, sock.MaxWait))
}

func (s *system) Connect(netip.AddrPort) (fd int, err error) {
	s.spend(callConnect)
	c, err := s.net.connect()
	if err != nil {
		s.note("connect", -1, 0)
		return -1, err
	}
	s.note("connect", c.fd, 0)
	return c.fd, nil
}

func (s *system) Failure(fd int) error {
	s.spend(callOther)
	c := s.open("failure", fd)
	if c == nil {
		return syscall.EBADF
	}
	if c.reset >= 0 {
		return syscall.ECONNRESET
	}
	return c.err
}

// RTT implements sock.System.
func (s *system) RTT(fd int) time.Duration {
	s.spend(callOther)
	if c := s.open("rtt", fd); c != nil {
		return c.rtt
	}
	return 0
}

// Resent implements sock.System: 0, which means that the kernel does not tell.
func (s *system) Resent(int) uint64 { return 0 }

func (s *system) Stamp(fd int) error {
	s.spend(callOther)
	s.open("stamp", fd)
	return nil
}

func (s *system) Send(fd int, b []byte) (n int, errno syscall.Errno) {
	s.spend(callSend)
	defer func() { s.note("send", fd, n) }()
	c := s.open("send", fd)
	switch {
	case c == nil:
		return 0, syscall.EBADF
	case c.state != up:
		s.report.fault("early send", "send on %d, which is not connected", fd)
		return 0, syscall.ENOTCONN
	}
	return s.net.send(c, b)
}

func (s *system) Receive(fd int, b []byte) (n int, errno syscall.Errno) {
	n, _, errno = s.receive("receive", fd, b, true)
	return n, errno
}

func (s *system) ReceiveStamped(fd int, b []byte) (n int, stamp int64, errno syscall.Errno) {
	return s.receive("receive", fd, b, true)
}

func (s *system) Peek(fd int, b []byte) (n int, errno syscall.Errno) {
	s.net.srv.looks++
	n, _, errno = s.receive("peek", fd, b, false)
	return n, errno
}

func (s *system) receive(call string, fd int, b []byte, take bool) (n int, stamp int64, errno syscall.Errno) {
	c := s.open(call, fd)
	if c != nil && c.readable() {
		s.spend(callRead)
	} else {
		s.spend(callMiss)
	}
	defer func() { s.note(call, fd, n<<8+int(errno)) }()
	switch {
	case c == nil:
		return 0, 0, syscall.EBADF
	case c.state == refused:
		return 0, 0, syscall.ECONNREFUSED
	case c.state == connecting:
		return 0, 0, sock.Again
	}
	return c.read(b, take)
}

func (s *system) Close(fd int) {
	s.spend(callOther)
	s.note("close", fd, 0)
	s.Remove(fd)
	s.net.close(fd)
}

func (s *system) Add(fd int, token int32, write bool) error {
	s.spend(callOther)
	s.note("add", fd, int(token))
	c := s.open("add", fd)
	if c != nil && c.released >= 0 {
		if waited := s.cur.at - c.released; !c.probe && waited > slack && s.sc.Stalls == 0 && s.sc.Quota == 0 && s.sc.Cores == 0 && s.sc.Halts == nil {
			s.report.fault("late wake-up", "connection %d was ready %v before the loop noticed it", fd, waited)
		}
		c.released = -1
	}
	switch {
	case c == nil:
		return syscall.EBADF
	case s.watched[fd] != nil:
		s.report.fault("poller", "descriptor %d was added twice", fd)
		return syscall.EEXIST
	case s.chance("full poller", s.sc.FullPoller):
		c.faults++
		s.dialFault()
		return syscall.ENOSPC
	}
	s.watched[fd] = &watch{c, token, write}
	s.order = append(s.order, fd)
	return nil
}

func (s *system) Watch(fd int, token int32, write bool) error {
	s.spend(callOther)
	s.note("watch", fd, int(token))
	v := s.watched[fd]
	if v == nil {
		s.report.fault("poller", "descriptor %d is watched, but was not added", fd)
		return syscall.ENOENT
	}
	v.token, v.write = token, write
	return nil
}

func (s *system) Remove(fd int) {
	if s.watched[fd] == nil {
		return
	}
	delete(s.watched, fd)
	for i, o := range s.order {
		if o == fd {
			s.order = append(s.order[:i], s.order[i+1:]...)
			break
		}
	}
}

func (s *system) Wait(d time.Duration, list []sock.Event) (n int) {
	s.spend(callOther)
	defer func() { s.note("wait", 0, n) }()
	if d = min(d, sock.MaxWait); d > 0 {
		if s.chance("interrupted wait", s.sc.Interrupts) {
			d = time.Duration(1 + s.rng.Int64N(int64(d)))
		}
		until := s.cur.at + d
		s.block(until, s.any)
		if s.cur.at >= until { // nothing came
			s.cur.at += s.wakeUp()
			s.sync()
		}
	}
	s.woken = false
	for _, fd := range s.order {
		v := s.watched[fd]
		if read, write := v.c.readable(), v.write && v.c.writable(); (read || write) && n < len(list) {
			list[n] = sock.Event{Token: v.token, Read: read, Write: write}
			n++
		}
	}
	return n
}

// any reports whether a wait is over: somebody called Wake, or a watched connection is ready.
func (s *system) any() bool {
	if s.woken {
		return true
	}
	for _, v := range s.watched {
		if v.c.readable() || v.write && v.c.writable() {
			return true
		}
	}
	return false
}

func (s *system) Wake() {
	s.woken = true
}

func (s *system) End() {
	if s.over {
		s.report.fault("descriptor", "a poller was closed twice")
	}
	s.over = true
}
