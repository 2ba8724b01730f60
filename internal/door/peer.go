package door

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/pause"
)

// Peer says which user's process is at the other end of a connection.
type Peer string

const (
	// PeerSelf is the user that takt runs as, or root.
	PeerSelf Peer = "self"
	// PeerStranger is another user, or a process that has closed its socket.
	PeerStranger Peer = "stranger"
	// PeerUnknown is the answer of a system that does not tell.
	PeerUnknown Peer = "unknown"

	// peerNobody is a socket that no process has: it is closed, or its server has not accepted it yet.
	peerNobody Peer = "nobody"
)

// PeerOf finds the user at the other end of a loopback connection, to which every user of the
// machine can connect.
func PeerOf(conn net.Conn) Peer {
	who := peerHere(conn)
	for pause := time.Millisecond; who == peerNobody && pause < surely; pause *= 2 {
		time.Sleep(pause)
		who = peerHere(conn)
	}
	if who == peerNobody {
		return PeerStranger
	}
	return who
}

const (
	// surely is how long PeerOf looks for a socket: Linux may leave one out of a table that changes while
	// it is read.
	surely = 16 * time.Millisecond
	// longestLook is the longest pause between two looks for a server.
	longestLook = 100 * time.Millisecond
)

// ServerOf finds the user whose process accepted a connection, for a client that must not tell its
// secrets to another user: every user can listen on a free port. Before a process has accepted the
// connection, it is nobody's, so ServerOf waits until then, or until ctx ends. Nothing tells the user
// on another machine.
func ServerOf(ctx context.Context, conn net.Conn) (Peer, error) {
	if !IsLocalAddr(conn.RemoteAddr().String()) {
		return PeerUnknown, nil
	}
	for next := time.Millisecond; ; next = min(2*next, longestLook) {
		if who := peerHere(conn); who != peerNobody {
			return who, nil
		}
		if !pause.For(next, ctx.Done()) {
			return PeerStranger, context.Cause(ctx)
		}
	}
}

// TellsPeers reports whether this system says which user has a socket.
func TellsPeers() bool {
	return slices.ContainsFunc(tables(), func(name string) bool {
		_, err := os.Stat(filepath.Join(self, name))
		return err == nil
	})
}

// self is the folder of this process, whose tables are those of its own network.
const self = "/proc/self"

func peerHere(conn net.Conn) Peer { return peerIn(conn, here, spaceOf) }

// socket is a TCP socket as Linux tells it. One without a process has the inode 0 and the user 0, which
// is not root's.
type socket struct{ user, inode string }

// finder finds the socket from one address to the other. The error is that of a system that does not tell.
type finder func(from, to netip.AddrPort) (s socket, found bool, err error)

// tables are the files in which Linux lists TCP sockets with their users. The second also
// has clients that use IPv4 through an IPv6 socket.
func tables() []string { return []string{"net/tcp", "net/tcp6"} }

// peerIn looks for the other end of conn; where says in whose user namespace the socket with that inode is.
func peerIn(conn net.Conn, find finder, where func(inode string) space) Peer {
	if conn.LocalAddr().Network() == "unix" {
		return PeerSelf // the socket has the mode 0600
	}
	if isClosed(conn) { // as when a lobby evicted it: neither end is in a table, and looking there costs milliseconds
		return PeerStranger
	}
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return PeerUnknown
	}
	remote, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return PeerUnknown
	}
	// takt sees all processes of its own user, but not all of root: those in other containers,
	// or if takt is not root. So root needs not be seen in takt's namespace.
	switch s, found, err := find(remote, local); {
	case err != nil:
		return PeerUnknown
	case !found, s.inode == "0":
		return peerNobody
	case s.user == "0" && where(s.inode) != spaceOther, s.user == strconv.Itoa(os.Geteuid()) && where(s.inode) == spaceOwn:
		return PeerSelf
	}
	return PeerStranger
}

// isClosed reports whether this process has closed the connection.
func isClosed(conn net.Conn) bool {
	known, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := known.SyscallConn()
	return err != nil || raw.Control(func(uintptr) {}) != nil
}

// inTables finds a socket in the tables of proc, the folder /proc/self.
func inTables(proc fs.FS) finder {
	return func(from, to netip.AddrPort) (s socket, found bool, err error) {
		known := false
		for _, name := range tables() {
			text, bad := fs.ReadFile(proc, name)
			if bad != nil {
				err = bad
				continue
			}
			known = true
			if s, found = inTable(string(text), from, to); found {
				return s, true, nil
			}
		}
		if known {
			return socket{}, false, nil
		}
		return socket{}, false, err
	}
}

func inTable(table string, from, to netip.AddrPort) (s socket, found bool) {
	port := fmt.Sprintf(":%04X ", from.Port())
	for line := range strings.Lines(table) {
		if !strings.Contains(line, port) { // there may be 100 000 lines
			continue
		}
		// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …
		if f := strings.Fields(line); len(f) >= 10 && isAddress(f[1], from) && isAddress(f[2], to) {
			return socket{f[7], f[9]}, true
		}
	}
	return socket{}, false
}

// space is where the process is that has a socket.
type space int

const (
	spaceUnseen space = iota // no process that takt may look at has the socket
	spaceOther               // in another user namespace than takt
	spaceOwn
)

// spaceOf says in whose user namespace a process has the socket. Confined programs can have the
// number of takt's user or of root, but in another namespace.
func spaceOf(inode string) (in space) {
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return spaceOwn // this kernel has no user namespaces
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is well-formed; the files of other users' processes are not listed
	for _, path := range open {
		if link, err := os.Readlink(path); err != nil || link != "socket:["+inode+"]" {
			continue
		}
		switch theirs, err := os.Readlink(filepath.Join(filepath.Dir(filepath.Dir(path)), "ns/user")); {
		case err != nil:
		case theirs == own:
			return spaceOwn
		default:
			in = spaceOther
		}
	}
	return in
}

// isAddress reports whether the text is the address as Linux writes it: 32-bit words in
// the machine's byte order, a colon, and the port.
func isAddress(text string, a netip.AddrPort) bool {
	address, port, _ := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(address)
	if err != nil || len(bytes)%4 != 0 || port != fmt.Sprintf("%04X", a.Port()) {
		return false
	}
	for i := 0; i < len(bytes); i += 4 {
		binary.NativeEndian.PutUint32(bytes[i:], binary.BigEndian.Uint32(bytes[i:]))
	}
	ip, ok := netip.AddrFromSlice(bytes)
	return ok && ip.Unmap() == a.Addr().Unmap()
}
