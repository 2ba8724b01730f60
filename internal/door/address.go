package door

import (
	"net"
	"net/netip"
	"strings"
)

// AddressOf is the key of the limits per address: an IPv4 address, or the IPv6 /64 from
// which one host can choose its addresses. All addresses of loopback are one: a user of this machine
// can use 2^24 of them. All clients of a unix socket share one key.
func AddressOf(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.Network()
	}
	ip := at.Addr().Unmap().WithZone("")
	switch {
	case ip.IsLoopback():
		return "127.0.0.1"
	case ip.Is4():
		return ip.String()
	}
	network, _ := ip.Prefix(64) // fails only beyond 128 bits
	return network.String()
}

// IsLocalAddr reports whether only this machine can reach an address; "" counts as such.
func IsLocalAddr(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return addr == "" || err == nil && IsLoopback(host)
}

// IsLoopback looks no names up: a name other than localhost may point anywhere tomorrow.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// HostOf is the host of host:port, or of host.
func HostOf(text string) string {
	if host, _, err := net.SplitHostPort(text); err == nil {
		return host
	}
	return strings.Trim(text, "[]")
}
