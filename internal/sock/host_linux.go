package sock

import (
	"net/netip"
	"syscall"
	"time"
)

// host is this machine as the System of one thread.
type host struct {
	HostClock
	*Poller
	receiver Receiver
}

// NewHost is a System on this machine for one thread.
func NewHost() (System, error) {
	p, err := NewPoller()
	if err != nil {
		return nil, err
	}
	return &host{Poller: p}, nil
}

func (*host) Sleep(d time.Duration)                           { Sleep(d) }
func (*host) Connect(addr netip.AddrPort) (fd int, err error) { return Connect(addr) }
func (*host) Failure(fd int) error                            { return Failure(fd) }
func (*host) RTT(fd int) time.Duration                        { return RTT(fd) }
func (*host) Resent(fd int) uint64                            { return Resent(fd) }
func (*host) Stamp(fd int) error                              { return Stamp(fd) }
func (*host) Close(fd int)                                    { Close(fd) }
func (h *host) End()                                          { h.Poller.Close() }

func (*host) Send(fd int, b []byte) (n int, errno syscall.Errno)    { return Send(fd, b) }
func (*host) Receive(fd int, b []byte) (n int, errno syscall.Errno) { return Receive(fd, b) }
func (*host) Peek(fd int, b []byte) (n int, errno syscall.Errno)    { return Peek(fd, b) }

func (h *host) ReceiveStamped(fd int, b []byte) (n int, stamp int64, errno syscall.Errno) {
	return h.receiver.Receive(fd, b)
}
