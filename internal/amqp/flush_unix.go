//go:build unix

package amqp

import (
	"net"
	"syscall"
)

// direct writes to a socket what it takes without waiting.
type direct struct {
	raw   syscall.RawConn
	batch []byte
	n     int
	try   func(fd uintptr) bool // made once: a closure for each write would allocate
}

// newDirect gives nil for what is no socket, TLS for one.
func newDirect(nc net.Conn) *direct {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{raw: raw}
	d.try = func(fd uintptr) bool {
		d.n, _ = syscall.Write(int(fd), d.batch)
		return true
	}
	return d
}

// write returns how much of batch it wrote; the writer meets with an error again.
func (d *direct) write(batch []byte) int {
	d.batch, d.n = batch, 0
	_ = d.raw.Write(d.try) // fails on a closed connection: nothing was written then
	d.batch = nil
	return max(d.n, 0)
}
