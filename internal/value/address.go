package value

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// HostPort is the address of a machine to connect to. An empty Host is this machine.
type HostPort struct{ Host, Port string }

// String returns HOST:PORT, with brackets around an IPv6 address.
func (a HostPort) String() string { return net.JoinHostPort(a.Host, a.Port) }

// ParseHostPort reads HOST:PORT. PORT is a number above 0, or a name that the system knows.
func ParseHostPort(text string) (HostPort, error) {
	if strings.Contains(text, "://") {
		return HostPort{}, fmt.Errorf("%.60q is a URL; write HOST:PORT%s", HidePassword(text), within(text))
	}
	a, err := splitHostPort(text)
	if err != nil {
		return HostPort{}, fmt.Errorf("%.60q %w; write HOST:PORT, such as 10.0.0.1:8400 or [::1]:8400", text, err)
	}
	return a, nil
}

// within is the advice to use the address in a URL; "": it has none.
func within(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	if _, err := splitHostPort(u.Host); err != nil {
		return ""
	}
	return ": " + u.Host
}

func splitHostPort(text string) (a HostPort, err error) {
	if a.Host, a.Port, err = net.SplitHostPort(text); err != nil {
		if net.ParseIP(text) != nil && strings.Contains(text, ":") {
			return a, errors.New("has no brackets around its IPv6 address")
		}
		return a, errors.New("is not an address with a port")
	}
	if strings.ContainsAny(a.Host, "/@?# \t\n") {
		return a, errors.New("has a host that cannot be a name")
	}
	if n, err := net.LookupPort("tcp", a.Port); err != nil || n == 0 {
		return a, errors.New("has a port that is not from 1 to 65535")
	}
	return a, nil
}

// address is a flag with a HostPort.
type address struct{ p *HostPort }

func (f address) Set(text string) (err error) {
	a, err := ParseHostPort(text)
	if err == nil {
		*f.p = a
	}
	return err
}

func (f address) String() string {
	if f.p == nil || *f.p == (HostPort{}) {
		return ""
	}
	return f.p.String()
}

func (address) Type() string             { return "string" } // pflag quotes its default then
func (address) Names(text string) []Name { return machines(text) }

// Address is a machine that takt connects to, as HOST:PORT.
func Address(p *HostPort) Flag { return address{p} }
