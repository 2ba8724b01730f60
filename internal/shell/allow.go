package shell

import (
	"net"
	"net/netip"
	"strings"

	"github.com/taktload/takt/internal/value"
)

// targets are the hosts that may be loaded.
type targets struct {
	all      bool
	networks []netip.Prefix
	hosts    []string // host, or host:port
}

func parseTargets(list []string) (t targets, err error) {
	for _, text := range list {
		network, notNetwork := netip.ParsePrefix(text)
		switch {
		case text == "*":
			t.all = true
		case notNetwork == nil:
			t.networks = append(t.networks, network)
		case text == "" || strings.ContainsAny(text, "/*@ "):
			return t, value.Faultf("bad --allow-target %q; give a host, host:port, a network such as 10.0.0.0/8, or *", text)
		default:
			t.hosts = append(t.hosts, strings.ToLower(text))
		}
	}
	return t, nil
}

// allows reports whether the targets include a host or host:port. It does not look names
// up: a name could point elsewhere when the load begins.
func (t targets) allows(target string) bool {
	target = strings.ToLower(target)
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = strings.Trim(target, "[]")
	}
	if t.all {
		return true
	}
	for _, h := range t.hosts {
		if h == target || h == host {
			return true
		}
	}
	ip, err := netip.ParseAddr(host)
	for _, n := range t.networks {
		if err == nil && n.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}
