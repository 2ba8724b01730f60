//go:build !linux

package sock

import "net"

// Available reports whether this system has what the package needs.
const Available = false

// Quiet is c.
func Quiet(c net.Conn) net.Conn { return c }
