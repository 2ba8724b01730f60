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

// World is where a run takes place: its clocks, its threads and its network. The zero Plan
// runs on this machine. internal/sim has a world in which a seed decides everything, so the
// engine waits for nothing but by these methods, and it asks for the time or waits only while
// it holds no lock: the simulator may let another thread go on there.
type World interface {
	sock.Clock
	Now() time.Time
	// After returns a channel that is closed after d.
	After(d time.Duration) <-chan struct{}
	// First waits until one of the channels is ready, and is its index. A nil channel never is.
	First(list ...<-chan struct{}) int
	// Either is First for two, and does not allocate.
	Either(a, b <-chan struct{}) int
	// Waiter waits for instants since start; the goroutine that asks uses it. precise: as
	// exactly as there are means for.
	Waiter(start time.Time, precise bool) pace.Waiter
	// OnEnd runs f beside all others when ctx ends, unless undo is called before.
	OnEnd(ctx context.Context, f func()) (undo func() bool)
	// Go runs f beside the caller.
	Go(f func())
	// Thread is Go, with a thread of the system's for f alone.
	Thread(f func())
	// System is what one such thread uses.
	System() (sock.System, error)
	// Dial connects to l as its Addr says: later connections go to the address that this one
	// reached. first is its socket; negative: there is none to use.
	Dial(ctx context.Context, l *takt.Loop) (addr netip.AddrPort, first int, err error)
	// Within is a context that ends with ctx, or at that instant.
	Within(ctx context.Context, at time.Time) (context.Context, context.CancelFunc)
	// Connect connects as a net.Dialer does.
	Connect(ctx context.Context, network, addr string) (net.Conn, error)
	// Close closes a socket that no System uses.
	Close(fd int)
	// Usage is what the process has used.
	Usage() proc.Usage
}

// world is where p runs.
func (p *Plan) world() World {
	if p.World != nil {
		return p.World
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

func (machine) Waiter(start time.Time, precise bool) pace.Waiter {
	if precise {
		return pace.Precise(start)
	}
	return pace.Timer(start)
}

func (machine) OnEnd(ctx context.Context, f func()) (undo func() bool) {
	return context.AfterFunc(ctx, f)
}

func (machine) Within(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, at)
}

func (machine) Connect(ctx context.Context, network, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, addr)
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
