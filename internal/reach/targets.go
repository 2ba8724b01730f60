package reach

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Targets are the machines that a process may connect to.
type Targets struct {
	all      bool
	networks []netip.Prefix
	hosts    []string // host, or host:port
}

// Everywhere is the list of all machines.
func Everywhere() []string { return []string{"*"} }

// Parse reads hosts, HOST:PORT and networks; * is every machine.
func Parse(list []string) (t Targets, err error) {
	for _, text := range list {
		network, notNetwork := netip.ParsePrefix(text)
		switch {
		case text == "*":
			t.all = true
		case notNetwork == nil:
			t.networks = append(t.networks, network)
		case text == "" || strings.ContainsAny(text, "/*@ "):
			return t, fmt.Errorf("%q is not a machine; give a host, host:port, a network such as 10.0.0.0/8, or *", text)
		default:
			t.hosts = append(t.hosts, bare(text))
		}
	}
	return t, nil
}

// bare is a host or host:port in lower case, without brackets around an IPv6 address that has no port.
func bare(text string) string {
	text = strings.ToLower(text)
	if _, _, err := net.SplitHostPort(text); err == nil {
		return text
	}
	return strings.Trim(text, "[]")
}

// Has reports whether the targets include a host or host:port. It does not look names
// up: a name could point elsewhere when the load begins.
func (t Targets) Has(target string) bool {
	target = bare(target)
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target
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

// HostOf is the host, with its port if there is one, of a URL, a host or HOST:PORT; "": the text is neither.
func HostOf(text string) string {
	if !strings.Contains(text, "://") {
		text = "//" + text
	}
	u, err := url.Parse(text)
	if err != nil || strings.Contains(u.Host, "{{") {
		return ""
	}
	return u.Host
}

// Refused is the error of a machine that is not one of the targets.
type Refused struct{ Machine string }

func (r *Refused) Error() string {
	return r.Machine + " may not be loaded; the server allows what --allow-target lists"
}

// Permanent says that another attempt would not help.
func (*Refused) Permanent() bool { return true }
