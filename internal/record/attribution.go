package record

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Slot is what a connection, or another place for one operation at a time, knows of its last
// operation.
type Slot struct {
	Service time.Duration // service time of the last operation; 0: no operation yet
	Own     time.Duration // generator's part of Service, such as the computing of a handshake
	Read    time.Duration // instant at which the generator had read the answer
}

// After is the slot after the operation; own is the generator's part of its service time.
func (e *Event) After(own time.Duration) Slot {
	return Slot{Service: e.Done - e.Sent, Own: min(own, e.Done-e.Sent), Read: e.Read}
}

// Plus is the time of s and o together.
func (s Slot) Plus(o Slot) Slot { return Slot{Service: s.Service + o.Service, Own: s.Own + o.Own} }

// OwnOf is the generator's part of a wait for s.
func (s Slot) OwnOf(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * min(1, float64(s.Own)/float64(max(1, s.Service))))
}

// Backlog finds the operations that wait for a connection because the generator froze, or computed
// on its connections. While nearly all connections are the generator's and operations are due, the
// target is idle. Every operation sent after that is late for the target until the backlog is gone.
// A gap on a single connection delays nothing, because a busy target serves other connections
// sooner. A Backlog belongs to one goroutine at a time.
type Backlog struct {
	Size int // number of connections

	gaps []gap         // in the order of their instants; the last one is the end of the one before
	from time.Duration // start of the time that became debt last
	debt time.Duration // how much earlier the latest operations could have been sent
}

// gap is a time in which n connections were the generator's while operations were due. It ends
// where the next one begins.
type gap struct {
	from time.Duration
	n    int
}

// gapsMost limits the gaps of a Backlog. Instants that differ by less than 1/gapParts of a
// connection's gap are one.
const (
	gapsMost = 256
	gapParts = 32
)

// starved is the part of the connections that is free at once when the generator froze.
const starved = 0.75

// Note sets e.Behind. It is called for each operation when it is sent: at its end would be too late,
// because operations behind it may end before it. So the service time is that of the operation before.
func (b *Backlog) Note(e *Event) {
	old := e.Sent < b.from // of an asynchronous client: sent before the freeze, and ended late
	if before := &e.Before; !old && !e.Dialling && e.wait() > 0 && float64(before.Own) > ownShare*float64(before.Service) {
		began := e.Free - before.Service
		b.note(began, began+before.Own)
	}
	if lag := e.lag(); !old && float64(lag) > ringShare*float64(lag+e.Before.Service) {
		b.note(e.Sent-lag, e.Sent)
	}
	e.Behind = min(e.wait(), b.debt)
	if !old {
		b.debt = min(b.debt, max(0, e.Sent-e.Due))
	}
}

// note notes the time in which a connection was free while an operation was due. Connections are
// used again in another order than they became free, and a handshake is known at its end, so
// these times come in any order. What nearly all connections have in common becomes debt, once.
func (b *Backlog) note(from, to time.Duration) {
	near := (to - from) / gapParts
	first := b.at(from, near)
	last := b.at(to, near)
	enough := int(math.Ceil(starved * float64(b.Size)))
	for i := first; i < last; i++ {
		if b.gaps[i].n++; b.gaps[i].n == enough {
			b.debt += b.gaps[i+1].from - b.gaps[i].from
			b.from = max(b.from, b.gaps[i].from)
		}
	}
	if len(b.gaps) > gapsMost {
		b.gaps = slices.Delete(b.gaps, 0, gapsMost/2)
	}
}

// at is the index of the gap that begins at the instant or near it.
func (b *Backlog) at(instant, near time.Duration) int {
	i, _ := slices.BinarySearchFunc(b.gaps, instant, func(g gap, t time.Duration) int { return cmp.Compare(g.from, t) })
	n := 0
	if i > 0 {
		if instant-b.gaps[i-1].from <= near {
			return i - 1
		}
		n = b.gaps[i-1].n
	}
	if i == len(b.gaps) || b.gaps[i].from-instant > near {
		b.gaps = slices.Insert(b.gaps, i, gap{instant, n})
	}
	return i
}

// lag is the schedule lag.
func (e *Event) lag() time.Duration { return e.Sent - max(e.Due, e.Free) }

// wait is how long the operation waited for a connection.
func (e *Event) wait() time.Duration { return max(0, e.Free-max(e.Due, e.Ready)) }

// input is how long the operation waited for the list that it comes from.
func (e *Event) input() time.Duration { return max(0, min(e.Ready, e.Free)-e.Due) }

// ringShare is the largest part of a connection's time, from one answer to the next, that the
// generator may use. Above ringShare the generator is why operations wait. It equals the
// quarter of verdict.Held.
const ringShare = 0.25

// ownShare is ringShare with the generator's part of the service time, such as the computing of
// handshakes: without any shortage they are a third of a short operation.
const ownShare = 0.5

// behind is how long the operation waited for a connection because of the generator: behind
// its backlog, or because it used connections for long between an answer and the next
// request. A wait for connections that are being made is divided as the making was: no busy target
// could have served the operation meanwhile.
func (e *Event) behind() time.Duration {
	if e.Dialling {
		return max(e.Behind, e.Before.OwnOf(e.wait()))
	}
	lag := e.lag()
	all := float64(max(1, lag+e.Before.Service))
	if share := float64(lag+e.Before.Own) / all; float64(lag)/all > ringShare || share > ownShare {
		return max(e.Behind, time.Duration(share*float64(e.wait())))
	}
	return e.Behind
}

// backlogged reports whether the operation may have waited for a connection behind operations that the
// generator sent late.
func (e *Event) backlogged() bool { return e.Free > e.Due && (e.Behind > 0 || e.Dialling) }

// backlog is how long such an operation waited behind them. Other waits by the generator's use of connections
// are no backlog, and verdict.Held judges them.
func (e *Event) backlog() time.Duration {
	if e.Dialling {
		return e.behind()
	}
	return e.Behind
}

// unread is the part of the schedule lag in which the previous answer was unread.
func (e *Event) unread() time.Duration {
	if e.Free <= e.Due {
		return 0
	}
	return min(max(0, e.Before.Read-e.Free), e.lag())
}

// sliceCount is the number of slices of response times. Each slice is twice as long as the
// one before; the last ends beyond the longest time.Duration.
const sliceCount = 55

// sliceOf is the index of a response time's slice.
func sliceOf(response time.Duration) int {
	return bits.Len64(uint64(max(0, response) / time.Microsecond))
}

// slice sums operations with a similar response time. Its times are those of takt.Parts in
// whole nanoseconds: sums of seconds would depend on their order, and so on the shards.
type slice struct {
	N       uint64  `json:"n"`
	Sent    uint64  `json:"sent"` // operations of N that were sent
	Late    float64 `json:"late"`
	Unread  float64 `json:"unread"`
	Input   float64 `json:"input"`
	Host    float64 `json:"host"`
	Queue   float64 `json:"queue"`
	Network float64 `json:"network"` // without round trips of requests
	Target  float64 `json:"target"`  // with round trips of requests
	Unsent  float64 `json:"unsent"`  // wait for a connection until the cut
	Own     float64 `json:"own"`     // generator's part of the waits for a connection that ended
}

func (p *slice) merge(o *slice) {
	p.N += o.N
	p.Sent += o.Sent
	p.Late += o.Late
	p.Unread += o.Unread
	p.Input += o.Input
	p.Host += o.Host
	p.Queue += o.Queue
	p.Network += o.Network
	p.Target += o.Target
	p.Unsent += o.Unsent
	p.Own += o.Own
}

// attribute splits the response time of n operations that were sent. It returns the part of each of
// them that is the generator's own.
func (s *set) attribute(e *Event, n uint64, res *takt.Result) (own time.Duration) {
	k := float64(n)
	p := &s.slices[sliceOf(e.Done-e.Due)]
	p.N += n
	p.Sent += n
	service := e.Done - e.Sent
	if res != nil {
		if verdict.IsLimit(res.Class) {
			p.Host += k * float64(service)
			service = 0
		}
		client, dial := s.cfg.own(res)
		own = min(client+dial, service)
		service -= own
		network := -dial // a part of these phases
		for _, i := range s.cfg.network {
			network += res.Phases[i]
		}
		network = max(0, min(network, service))
		p.Network += k * float64(network)
		service -= network
	}
	p.Target += k * float64(service)
	late, unread := e.lag(), time.Duration(0)
	if e.Free > e.Due {
		input, behind := e.input(), e.behind()
		unread = e.unread()
		if e.backlogged() {
			s.Behind.Add(late+e.backlog(), n)
		}
		p.Unread += k * float64(unread)
		p.Input += k * float64(input)
		s.waited(p, e, k*float64(late), k*float64(behind), k*float64(e.Free-e.Due-input-behind))
		late += behind
	}
	own += late
	p.Late += k * float64(own-unread)
	return own
}

// waited divides the waits for a connection. The target used all connections, unless they were still being
// made: then the wait is the network's, and no part of it is the generator's use of connections.
func (s *set) waited(p *slice, e *Event, late, behind, others float64) {
	if e.Dialling {
		p.Network += others
		return
	}
	p.Own += late + behind
	p.Queue += others
}

// attributeUnsent adds n operations that were due and never sent. It returns the part of the wait of each
// of them that is the generator's own.
func (s *set) attributeUnsent(e *Event, n uint64) (own time.Duration) {
	k := float64(n)
	p := &s.slices[sliceOf(e.Done-e.Due)]
	p.N += n
	waited, late := e.Done-e.Due, e.Done-min(max(e.Due, e.Free), e.Done) // late: a connection was free
	if waited -= late; !e.Dialling {
		p.Late += k * float64(late)
		p.Unsent += k * float64(waited)
		return late
	}
	own = late + e.Before.OwnOf(waited)
	s.Behind.Add(own, n)
	p.Late += k * float64(own)
	p.Network += k * float64(waited+late-own)
	return own
}

// networkPhases are the network's phases in drivers. clientPhase is the generator's own code
// before the first byte of the request, and dialPhase is its part of the network's phases.
var networkPhases = []string{"dns", "connect", "tls"}

const (
	clientPhase = "client"
	dialPhase   = verdict.DialPhase
)

// own is the generator's part of an operation's service time.
func (c *Config) own(res *takt.Result) (client, dial time.Duration) {
	if res == nil {
		return 0, 0
	}
	if c.client >= 0 {
		client = res.Phases[c.client]
	}
	if c.dial >= 0 {
		dial = res.Phases[c.dial]
	}
	return client, dial
}

// Own is the generator's part of an operation's service time.
func (r *Recorder) Own(res *takt.Result) time.Duration {
	client, dial := r.cfg.own(res)
	return client + dial
}

// phase is the name of a phase.
func (c *Config) phase(i int) string {
	if n := len(c.Phases); i >= n {
		return c.Timed[i-n].Name
	}
	return c.Phases[i]
}

// findPhases finds the indexes of the phases.
func (c *Config) findPhases() {
	c.network, c.client, c.dial = nil, slices.Index(c.Phases, clientPhase), slices.Index(c.Phases, dialPhase)
	for i, name := range c.Phases {
		if slices.Contains(networkPhases, name) {
			c.network = append(c.network, i)
		}
	}
}

// attribution is the report's. Waits until the cut are split like the waits that ended.
func (s *set) attribution(rtt time.Duration) (a takt.Attribution) {
	var sum slice
	for i := range s.slices {
		sum.merge(&s.slices[i])
	}
	if sum.N == 0 {
		return a
	}
	own := s.All.Share()
	if waited := sum.Queue + sum.Own; waited > 0 {
		own = sum.Own / waited
	}
	a.RTT = float64(rtt) / 1e3
	for i := range s.slices {
		p := &s.slices[i]
		if p.N == 0 {
			continue
		}
		network := min(float64(p.Sent)*float64(rtt), p.Target)
		a.Slices = append(a.Slices, takt.Slice{
			Below: float64(uint64(1) << i), Operations: p.N,
			Parts: takt.Parts{
				Late: (p.Late + own*p.Unsent) / 1e9, Unread: p.Unread / 1e9, Input: p.Input / 1e9, Host: p.Host / 1e9,
				Queue: (p.Queue + (1-own)*p.Unsent) / 1e9, Network: (p.Network + network) / 1e9, Target: (p.Target - network) / 1e9,
			},
		})
	}
	return a
}
