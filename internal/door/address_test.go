package door

import (
	"net"
	"net/netip"
	"testing"
)

// One host has 2^64 addresses of IPv6, and this machine has 2^24 of loopback: they count as one.
func TestAddressOf(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1:5":              "192.0.2.1",
		"[::ffff:192.0.2.1]:5":     "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:7": "2001:db8:1:2::/64",
		"[2001:db8:1:2::1]:9":      "2001:db8:1:2::/64",
		"[fe80::1%eth0]:9":         "fe80::/64",
		"127.7.6.5:9":              "127.0.0.1",
		"[::1]:9":                  "127.0.0.1",
	} {
		if got := AddressOf(at(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := AddressOf(&net.UnixAddr{Name: "/run/x", Net: "unix"}); got != "unix" {
		t.Error(got)
	}
}

func at(text string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text)) }
