//go:build !linux

package sock

import (
	"net"
	"syscall"
	"time"
)

// Available reports whether the package works on this system.
const Available = false

// Quiet is c.
func Quiet(c net.Conn) net.Conn { return c }

// Stamped is c.
func Stamped(c net.Conn) net.Conn { return c }

// ArrivedOff is not known here.
func ArrivedOff(net.Conn) (at time.Time, off time.Duration) { return time.Time{}, 0 }

// RTT is not known here.
func RTT(int) time.Duration { return 0 }

// PathResent is not known here.
func PathResent(syscall.Conn) (n uint64, known bool) { return 0, false }

// PathRTT is not known here.
func PathRTT(net.Conn) time.Duration { return 0 }

// Arrived is not known here.
func Arrived(net.Conn) time.Time { return time.Time{} }

// KeepStamps is not supported here.
func KeepStamps(time.Duration) (done func(), ok bool) { return func() {}, false }
