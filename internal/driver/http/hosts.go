package http

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// hosts are the servers that a scenario may load: that of the url argument, and those of the request lines in the file.
// Nothing that a server answers adds one.
type hosts []*url.URL

// index is the place of the server of u; -1: the scenario does not name it.
func (h hosts) index(u *url.URL) int {
	return slices.IndexFunc(h, func(one *url.URL) bool { return sameOrigin(one, u) })
}

// names are the servers, as origins.
func (h hosts) names() (list []string) {
	for _, u := range h {
		list = append(list, u.Scheme+"://"+u.Host)
	}
	return list
}

// add names the server of a whole URL; "" is none. base and alias are as in locate.
func (h *hosts) add(base *url.URL, alias, whole string) error {
	if whole == "" {
		return nil
	}
	at, _ := splitTarget(whole)
	u, err := parseWhole(at)
	if err == nil && !isOn(u, base, alias) && h.index(u) < 0 {
		*h = append(*h, u)
	}
	return err
}

// isOn reports whether u is on the server of base, or of alias, which is another name of it.
func isOn(u, base *url.URL, alias string) bool {
	return base != nil && (sameOrigin(u, base) || sameOrigin(u, &url.URL{Scheme: base.Scheme, Host: alias}))
}

// locate is the URL s of a request, which may be relative to base, the server of it, and what the request asks this
// server for. alias is another name of the server of base, as in a Host header.
func (h hosts) locate(base *url.URL, alias, s string) (u, server *url.URL, target string, err error) {
	w := whole(base, s)
	if w == "" {
		return base, base, s, nil
	}
	at, target := splitTarget(w)
	if u, err = parseWhole(at); err != nil {
		return nil, nil, "", err
	}
	target, _, _ = strings.Cut(cmp.Or(target, "/"), "#")
	if isOn(u, base, alias) {
		return u, base, target, nil
	}
	if i := h.index(u); i >= 0 {
		return u, h[i], target, nil
	}
	return nil, nil, "", fmt.Errorf("the url is on %s://%s, and the steps of the scenario are on %s; takt loads no host that only an answer names", u.Scheme, u.Host, strings.Join(h.names(), ", "))
}

// perHost makes connections for users of several hosts: a user has one to each that its requests go to.
type perHost struct {
	to   func(op *takt.Op) int // index of the host
	make []func(seat int) engine.Connection
	open atomic.Int64 // connections that users have used and not given up
	most atomic.Int64 // largest number of them
}

// connection is that of a seat.
func (p *perHost) connection(seat int) engine.Connection {
	return &hostsConnection{all: p, seat: seat, of: make([]engine.Connection, len(p.make)), used: make([]bool, len(p.make))}
}

// hostsConnection are the connections of one user, by host.
type hostsConnection struct {
	all  *perHost
	seat int
	of   []engine.Connection // nil: not used yet
	used []bool              // since the last Hangup
}

// at is the connection to a host.
func (c *hostsConnection) at(i int) engine.Connection {
	if c.of[i] == nil {
		c.of[i] = c.all.make[i](c.seat)
	}
	return c.of[i]
}

// Do implements takt.Worker.
func (c *hostsConnection) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	i := c.all.to(op)
	if !c.used[i] {
		c.used[i] = true
		for n := c.all.open.Add(1); ; {
			if most := c.all.most.Load(); n <= most || c.all.most.CompareAndSwap(most, n) {
				break
			}
		}
	}
	c.at(i).Do(ctx, op, r)
}

// Hangup implements engine.Connection.
func (c *hostsConnection) Hangup() {
	for i, one := range c.of {
		if c.used[i] {
			c.used[i] = false
			c.all.open.Add(-1)
			one.Hangup()
		}
	}
}

// Close implements takt.Worker. That of the first seat closes also connections of the probe that nobody used.
func (c *hostsConnection) Close() (err error) {
	for i, one := range c.of {
		if one == nil && c.seat == 0 {
			one = c.at(i)
		}
		if one != nil {
			err = cmp.Or(err, one.Close())
		}
	}
	return err
}

// probes reaches all hosts, one after the other.
func probes(list []func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, probe := range list {
			if err := probe(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
