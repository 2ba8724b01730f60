package process

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Connections returns where the connections lead that this process opened, over TCP and UDP, by a number
// that only this connection has. Connections that it accepted are not among them, nor those to a port of
// this host where nobody accepts connections any more: nobody knows which end of such a connection was
// opened.
func Connections() map[string]netip.AddrPort {
	const dir = "/proc/self"
	own, all := inodes(dir), sockets(dir, "tcp", "tcp6", "udp", "udp6")
	listens := map[uint16]bool{} // ports of this process and others
	type ends struct{ local, remote netip.AddrPort }
	here := map[ends]bool{}
	for _, s := range all {
		if s.listens() {
			listens[s.local.Port()] = true
		}
		here[ends{s.local, s.remote}] = true
	}
	open := map[string]netip.AddrPort{}
	for _, s := range all {
		accepted := listens[s.local.Port()] || here[ends{s.remote, s.local}] && !listens[s.remote.Port()]
		if own[s.inode] && s.remote.Port() != 0 && !accepted {
			open[s.inode] = s.remote
		}
	}
	return open
}

// socket is a line of /proc/PID/net/tcp or udp.
type socket struct {
	local, remote netip.AddrPort
	state, inode  string
}

func (s *socket) listens() bool { return s.state == "0A" }

// inodes are those of the open sockets of a process.
func inodes(dir string) map[string]bool {
	own := map[string]bool{}
	links, _ := filepath.Glob(dir + "/fd/*")
	for _, link := range links {
		name, _ := os.Readlink(link)
		if inode, ok := strings.CutPrefix(name, "socket:["); ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return own
}

// sockets are all that a process can see, also those of other processes.
func sockets(dir string, names ...string) (all []socket) {
	for _, name := range names {
		text, _ := os.ReadFile(filepath.Join(dir, "net", name))
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // sl, local_address, rem_address, st, …
			if len(f) < 10 {
				continue
			}
			local, ok1 := address(f[1])
			remote, ok2 := address(f[2])
			if ok1 && ok2 {
				all = append(all, socket{local, remote, f[3], f[9]})
			}
		}
	}
	return all
}

// address reads an address such as 0100007F:1F90, whose words of four bytes are in the order of the host.
func address(text string) (netip.AddrPort, bool) {
	ip, number, _ := strings.Cut(text, ":")
	port, err := strconv.ParseUint(number, 16, 16)
	b, bad := hex.DecodeString(ip)
	if err != nil || bad != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := b; len(word) > 0; word = word[4:] {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), ok
}
