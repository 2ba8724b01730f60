// Package reach connects to machines. A process that runs a command of somebody else confines itself to the
// machines of a list: then no address leads to another one, wherever the address is from. A target can name
// further machines: by a redirect, or as a broker of its cluster.
package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// confined is the list of this process; nil: it connects to every machine. As the folder of package files
// it belongs to the process, so code that forgets to ask for it is confined, too.
var confined atomic.Pointer[guard]

// guard is what a confined process can reach.
type guard struct {
	targets Targets
	tell    func(error) // nil: nobody asks
	mu      sync.Mutex
	trusted Targets // that the owner of the process named
}

// Confine confines this process to the machines of a list, as Parse reads them, until free. tell gets each
// refusal; nil: nobody does. A process confines itself once, before it reads what others wrote; only
// tests call free.
func Confine(list []string, tell func(error)) (free func(), err error) {
	t, err := Parse(list)
	if err != nil {
		return nil, err
	}
	if t.all {
		return func() {}, nil
	}
	if !confined.CompareAndSwap(nil, &guard{targets: t, tell: tell}) {
		return nil, errors.New("this process is already confined to a list of machines")
	}
	return func() { confined.Store(nil) }, nil
}

// IsConfined reports whether this process can reach only the machines of a list.
func IsConfined() bool { return confined.Load() != nil }

// Trust lets a confined process connect to this machine, too: the owner of the process gave the URL, host or
// HOST:PORT.
func Trust(text string) {
	if g := confined.Load(); g != nil && HostOf(text) != "" {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.trusted.hosts = append(g.trusted.hosts, bare(HostOf(text)))
	}
}

func (g *guard) has(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.targets.Has(address) || g.trusted.Has(address)
}

// Check returns the error with which Dial would refuse an address of net.Dial; nil: it would not. A
// confined process connects to no path.
func Check(network, address string) error {
	g := confined.Load()
	if ip := strings.HasPrefix(network, "tcp") || strings.HasPrefix(network, "udp"); g == nil || ip && g.has(address) {
		return nil
	}
	err := &Refused{address}
	if g.tell != nil {
		g.tell(err)
	}
	return &net.OpError{Op: "dial", Net: network, Err: err}
}

// Bypassed returns why a confined process does not use what connects without this package; nil: it may.
func Bypassed(what string) error {
	g := confined.Load()
	if g == nil {
		return nil
	}
	err := fmt.Errorf("%s connects by itself, where --allow-target does not apply; leave it out", what)
	if g.tell != nil {
		g.tell(err)
	}
	return err
}

// Dial connects as a net.Dialer does.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := Check(network, address); err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// NoRedirect lets a redirect be the answer of an http.Client: the user named the machine, and another one
// would get the password.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
