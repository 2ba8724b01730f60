package engine

import (
	"context"
	"net"
	"net/netip"
	"reflect"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// Waiting is how a pacer waits.
type Waiting int

// The ways to wait. Until returns at once when stop is ready, except Precisely.
const (
	Precisely Waiting = iota // as exact as the machine permits, on a thread of its own
	Promptly                 // nearly as exact, without a thread; no fake time passes meanwhile
	Plainly                  // with Go's timers: up to 1 ms late
)

// World is a run's environment: its clocks, threads and network. The zero Plan runs on this
// machine. internal/sim has a World in which a seed decides everything. So the engine waits
// only through these methods. It reads the time or waits only without a lock, because the
// simulator may switch threads there.
type World interface {
	sock.Clock
	Now() time.Time
	// After returns a channel that is closed after d.
	After(d time.Duration) <-chan struct{}
	// First waits until one of the channels is ready and returns its index. A nil channel is
	// never ready.
	First(list ...<-chan struct{}) int
	// Either is First for two channels, without an allocation.
	Either(a, b <-chan struct{}) int
	// Waiter makes a waiter for instants since start, for the calling goroutine only.
	Waiter(start time.Time, how Waiting) pace.Waiter
	// OnEnd runs f in a goroutine when ctx ends, unless undo is called before.
	OnEnd(ctx context.Context, f func()) (undo func() bool)
	// Go runs f in a new goroutine.
	Go(f func())
	// Thread is Go with an operating system thread for f alone.
	Thread(f func())
	// System is what a thread of Thread uses.
	System() (sock.System, error)
	// Dial connects to l.Addr and returns the address that it reached, for later connections.
	// first is its socket; negative: no socket.
	Dial(ctx context.Context, l *takt.Loop) (addr netip.AddrPort, first int, err error)
	// Release takes the socket from a connection of Connect, for a System.
	Release(c net.Conn) (addr netip.AddrPort, fd int, err error)
	// Within is a context that ends with ctx or at the instant at.
	Within(ctx context.Context, at time.Time) (context.Context, context.CancelFunc)
	// LookupHost returns the addresses of a name, as a net.Resolver does.
	LookupHost(ctx context.Context, host string) ([]string, error)
	// Connect connects as a net.Dialer does.
	Connect(ctx context.Context, network, addr string) (net.Conn, error)
	// Close closes a socket that no System uses.
	Close(fd int)
	// Usage is the CPU time and memory that the process has used.
	Usage() proc.Usage
}

// world is where p runs.
func (p *Plan) world() World { return WorldOf(p.World) }

// WorldOf is w, or this machine if w is nil.
func WorldOf(w World) World {
	if w != nil {
		return w
	}
	return machine{}
}

// machine is this machine as a World.
type machine struct{ sock.HostClock }

func (machine) Now() time.Time               { return time.Now() }
func (machine) Usage() proc.Usage            { return proc.Self() }
func (machine) System() (sock.System, error) { return sock.NewHost() }
func (machine) Go(f func())                  { go f() }

func (machine) Either(a, b <-chan struct{}) int {
	select {
	case <-a:
		return 0
	case <-b:
		return 1
	}
}

func (machine) Waiter(start time.Time, how Waiting) pace.Waiter {
	switch how {
	case Precisely:
		return pace.Precise(start)
	case Promptly:
		return pace.Prompt(start)
	}
	return pace.Timer(start)
}

func (machine) OnEnd(ctx context.Context, f func()) (undo func() bool) {
	return context.AfterFunc(ctx, f)
}

func (machine) Within(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, at)
}

func (machine) LookupHost(ctx context.Context, host string) ([]string, error) {
	return net.DefaultResolver.LookupHost(ctx, host)
}

// Connect connects to addresses that addresses.find or resolve returned, which asked package reach. As in the loop, no
// probes keep a connection alive: to ask for them takes a third of the system calls of a connection.
func (machine) Connect(ctx context.Context, network, addr string) (net.Conn, error) {
	return (&net.Dialer{KeepAlive: -1}).DialContext(ctx, network, addr)
}

func (machine) After(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

func (machine) First(list ...<-chan struct{}) int {
	if len(list) == 1 {
		<-list[0]
		return 0
	}
	cases := make([]reflect.SelectCase, len(list))
	for i, c := range list {
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}
	}
	i, _, _ := reflect.Select(cases)
	return i
}
