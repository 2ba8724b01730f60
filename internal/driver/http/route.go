package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/value"
)

// Proxy is an HTTP proxy as a flag.
type Proxy struct{ url *url.URL }

// Set implements flag.Value: hey's HOST:PORT, or a URL with credentials.
func (p *Proxy) Set(s string) error {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("not a proxy; write host:port, or http://user:password@host:port")
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), httpreq.DefaultPort(u))
	}
	p.url = u
	return nil
}

// String implements flag.Value without the credentials.
func (p *Proxy) String() string { return p.host() }

// Type implements value.Flag.
func (*Proxy) Type() string { return "proxy" }

// Names implements value.Flag.
func (*Proxy) Names(text string) []value.Name {
	if text == "" {
		return nil
	}
	return []value.Name{{Kind: value.Loads, Text: text}}
}

func (p *Proxy) host() string {
	if p == nil || p.url == nil {
		return ""
	}
	return p.url.Host
}

// Secrets implements takt.Secretive.
func (p *Proxy) Secrets() []string {
	if p.url == nil || p.url.User == nil {
		return nil
	}
	return httpreq.SecretsOf(httpreq.BasicAuth(p.url.User))
}

// ConnectTo is a repeatable flag of addresses to connect to instead of others.
type ConnectTo []detour

type detour struct{ host, port, toHost, toPort string }

// Set implements flag.Value: curl's HOST1:PORT1:HOST2:PORT2. An empty part of the
// first pair stands for any, one of the second leaves that part as it is.
func (c *ConnectTo) Set(s string) error {
	parts := splitAddress(s)
	if len(parts) != 4 {
		return fmt.Errorf("%q is not of the form HOST1:PORT1:HOST2:PORT2; write IPv6 addresses in brackets", s)
	}
	*c = append(*c, detour{parts[0], parts[1], parts[2], parts[3]})
	return nil
}

// splitAddress cuts at colons, but not within brackets, which it takes off.
func splitAddress(s string) (parts []string) {
	start, inside := 0, false
	cut := func(end int) { parts = append(parts, strings.Trim(s[start:end], "[]")); start = end + 1 }
	for i, b := range s {
		switch {
		case b == '[' || b == ']':
			inside = b == '['
		case b == ':' && !inside:
			cut(i)
		}
	}
	cut(len(s))
	return parts
}

// String implements flag.Value.
// Repeats implements value.Repeater.
func (c *ConnectTo) Repeats() {}

func (c *ConnectTo) String() string {
	var list []string
	for _, d := range *c {
		list = append(list, net.JoinHostPort(d.host, d.port)+":"+net.JoinHostPort(d.toHost, d.toPort))
	}
	return strings.Join(list, ",")
}

// Type implements value.Flag.
func (*ConnectTo) Type() string { return "list" }

// Names implements value.Flag.
func (*ConnectTo) Names(text string) []value.Name {
	var names []value.Name
	for one := range strings.SplitSeq(text, ",") {
		if parts := splitAddress(one); len(parts) == 4 {
			names = append(names, value.Name{Kind: value.Loads, Text: net.JoinHostPort(cmp.Or(parts[2], parts[0]), cmp.Or(parts[3], parts[1]))})
		}
	}
	return names
}

// detours are where to connect to for addr: the first that fits decides, with all others for the same host and port.
func (c ConnectTo) detours(addr string) (list []string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return []string{addr}
	}
	var first *detour
	for i, d := range c {
		if first == nil && (d.host == "" || strings.EqualFold(d.host, host)) && (d.port == "" || d.port == port) {
			first = &c[i]
		}
		if first != nil && strings.EqualFold(d.host, first.host) && d.port == first.port {
			list = append(list, net.JoinHostPort(cmp.Or(d.toHost, host), cmp.Or(d.toPort, port)))
		}
	}
	if first == nil {
		return []string{addr}
	}
	return list
}

// checkRoute holds the ways to the target against each other.
func (w *Way) checkRoute() error {
	var given []string
	for name, is := range map[string]bool{"--proxy": w.Proxy.url != nil, "--unix-socket": w.UnixSocket != "", "--connect-to": len(w.ConnectTo) > 0} {
		if is {
			given = append(given, name)
		}
	}
	if len(given) > 1 {
		return value.Faultf("more than one of --proxy, --unix-socket and --connect-to is given; keep one, a connection goes one way")
	}
	return nil
}

// route is the network and the addresses to connect to for addr, a host:port.
func (w *Way) route(addr string) (network string, addresses []string) {
	if w.UnixSocket != "" {
		return "unix", []string{w.UnixSocket}
	}
	return "tcp", w.ConnectTo.detours(addr)
}

// dial connects to where route says.
func (o *Options) dial(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	network, list := o.route(addr)
	turn := o.dialled.Add(1) - 1
	return reach.Dial(ctx, network, list[turn%uint64(len(list))])
}
