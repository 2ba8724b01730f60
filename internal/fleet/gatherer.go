package fleet

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/pause"
)

// Options say how a gatherer works.
type Options struct {
	Shards   int
	Token    Token                    // "": all members are processes of the same user
	Version  string                   // of takt, which all members must have
	Patience time.Duration            // how long to wait until all members are ready
	Spare    int                      // how many members may be lost during a run
	Clock    Clock                    // nil: NewClock()
	Peer     func(net.Conn) door.Peer // who is at the other end of a connection; nil: door.PeerOf
	Tell     func(text string)        // says to the user what happens
}

// Gatherer makes runs of the loads of its members.
type Gatherer struct {
	Options
	lobby   *door.Lobby
	changed chan struct{} // something happened that a run waits for
	room    chan struct{} // a place for each report that is read at the same time
	closed  chan struct{}

	mu       sync.Mutex
	peers    map[int]*peer // by shard, from 1
	round    *round        // nil: no run
	made     int           // number of runs so far
	broken   error         // a member that was lost between two runs; nil: none
	looked   time.Time     // last beat of watch
	stoodAt  time.Time     // end of the last standstill of this process
	stoodFor time.Duration // its length
	refused  int           // number of connections
	joined   int           // number of members so far
	left     int           // number of members that left their place to others
	failed   string        // why the last run was not made; "": it was
	ended    *ending       // nil: not yet
}

// atOnce is the number of reports that are in memory at the same time.
const atOnce = 2

// New returns a gatherer without members.
func New(o Options) *Gatherer {
	if o.Clock == nil {
		o.Clock = NewClock()
	}
	if o.Peer == nil {
		o.Peer = door.PeerOf
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	g := &Gatherer{Options: o, lobby: &door.Lobby{Most: maxGuests, MostOf: maxGuests}, changed: make(chan struct{}, 1), room: make(chan struct{}, atOnce), closed: make(chan struct{}), peers: map[int]*peer{}, looked: time.Now()}
	go g.watch()
	return g
}

// Serve accepts members until the listener is closed.
func (g *Gatherer) Serve(l net.Listener) error {
	var config *tls.Config
	if g.Token != "" {
		var err error
		if config, err = g.Token.server(); err != nil {
			return err
		}
	}
	places := make(chan struct{}, 2*maxGuests)
	for {
		places <- struct{}{}
		raw, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			<-places
			time.Sleep(retry) // as when there are no file descriptors left
			continue
		}
		guest := g.lobby.Enter(door.AddressOf(raw.RemoteAddr()), func() { _ = raw.Close() })
		go func() {
			p := g.welcome(raw, guest, config)
			g.lobby.Leave(guest)
			<-places
			if p != nil {
				g.listen(p)
			}
		}()
	}
}

// maxGuests is how many connections may be on their way to become a member. As many more may be about to end: they
// were evicted.
const maxGuests = 256

// firstOfTLS is the first byte of a connection with TLS.
const firstOfTLS = 0x16

// welcome makes a member of a new connection; nil: it is refused, or was evicted, and then the shard tries again.
func (g *Gatherer) welcome(raw net.Conn, guest *door.Guest, config *tls.Config) *peer {
	_ = raw.SetDeadline(time.Now().Add(greet))
	if config == nil {
		if why := mistrust(g.Peer(raw)); why != "" {
			g.refuse(raw, guest, raw, Hello{}, refusal{http.StatusForbidden, errors.New(why)})
			return nil
		}
	}
	front := &peeked{raw, bufio.NewReaderSize(raw, 1<<10)}
	conn := net.Conn(front)
	first, err := front.lines.Peek(1)
	secure := err == nil && first[0] == firstOfTLS
	var request *http.Request
	switch {
	case err != nil:
		raw.Close()
		return nil
	case config == nil && secure:
		g.refuse(raw, guest, raw, Hello{}, errors.New("it has a token, and this gatherer has none; give both the same"))
		return nil
	case config != nil && secure:
		conn = tls.Server(conn, config)
	}
	lines := bufio.NewReader(io.LimitReader(conn, 2*maxHello))
	if request, err = http.ReadRequest(lines); err != nil {
		if g.lobby.Evicted(guest) {
			return nil
		}
		if secure {
			err = errors.New("it has another token, or is no shard")
		}
		g.refuse(raw, guest, raw, Hello{}, err)
		return nil
	}
	h, err := helloOf(request, secure, g.Token, g.Version)
	if err == nil {
		if g.lobby.Leave(guest) {
			return nil
		}
		var p *peer
		if p, err = g.admit(h, conn); err == nil {
			_ = raw.SetDeadline(time.Time{})
			return p
		}
	}
	g.refuse(raw, guest, conn, h, err)
	return nil
}

// peeked is a connection whose first bytes lines can show without reading them.
type peeked struct {
	net.Conn
	lines *bufio.Reader
}

// Read implements net.Conn.
func (p *peeked) Read(b []byte) (int, error) { return p.lines.Read(b) }

// refuse answers with the reason, and says it to the user.
func (g *Gatherer) refuse(raw net.Conn, guest *door.Guest, answer io.Writer, h Hello, err error) {
	g.lobby.Refuse(guest)
	no := refusal{http.StatusConflict, err}
	errors.As(err, &no)
	g.mu.Lock()
	g.mention(&g.refused, mostRefused, fmt.Sprintf("%s is refused: %v", h.from(raw), no.error))
	g.mu.Unlock()
	read := make(chan struct{}) // unread bytes would let the answer get lost when the connection closes
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, io.LimitReader(raw, maxHello))
	}()
	_ = no.write(answer) // it is refused, also if it does not learn why
	pause.For(retry, read)
	raw.Close()
}

// mostRefused is how many refusals the user sees: a scan of ports would fill the screen. So many members more than
// there are places are seen to come and go.
const mostRefused = 20

// mention says to the user what may happen without end, up to a number of times. The lock is held.
func (g *Gatherer) mention(count *int, most int, text string) {
	if *count++; *count <= most {
		g.tell(text)
	}
}

// mostHost is the length of a host's name.
const mostHost = 253

// from is where a member is: its host's name, or its address if it says none.
func (h Hello) from(raw net.Conn) string {
	if name := foreign.Cut(h.Host, mostHost); name != "" {
		return name
	}
	return raw.RemoteAddr().String()
}

// admit gives a member its number. It welcomes the member under the lock, so that this is the
// first line.
func (g *Gatherer) admit(h Hello, raw net.Conn) (*peer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ended != nil:
		return nil, errors.New("the fleet has ended")
	case g.round != nil && g.round.launched:
		return nil, errors.New("the run has started without it; a shard cannot join or come back in the middle")
	}
	k := 1
	for g.peers[k] != nil {
		k++
	}
	if k > g.Shards {
		return nil, fmt.Errorf("the fleet has all its %d shards", g.Shards)
	}
	if _, err := io.WriteString(raw, switched); err != nil {
		return nil, err
	}
	p := &peer{g: g, k: k, host: h.from(raw), stream: newStream(raw, bufio.NewReader(raw)), out: make(chan toMember, mostPosted), gone: make(chan struct{})}
	if err := p.stream.send(toMember{Welcome: &welcome{p.name(), g.Shards}}, silence); err != nil {
		return nil, err
	}
	go p.deliver()
	g.peers[k] = p
	g.mention(&g.joined, 2*g.Shards+mostRefused, fmt.Sprintf("shard %s is %s (%d of %d)", p.name(), p.host, len(g.peers), g.Shards))
	if g.round != nil {
		p.order(g.round)
	}
	g.note()
	return p, nil
}

// tell says to the user what happens. The lock is held.
func (g *Gatherer) tell(text string) {
	if g.round != nil && g.round.load.Tell != nil {
		g.round.load.Tell(text)
		return
	}
	g.Tell(text)
}

// note wakes up the run.
func (g *Gatherer) note() { put(g.changed, struct{}{}) }

// listen reads the lines of a member until its connection is over.
func (g *Gatherer) listen(p *peer) {
	for {
		var line toGatherer
		err := p.stream.read(&line, p.longest)
		if err != nil {
			g.lose(p, reasonOf(err))
			close(p.gone)
			return
		}
		if line.Asks != nil {
			got := g.Clock.Read(time.Now())
			_ = p.stream.send(toMember{Clock: &reading{*line.Asks, got, g.Clock.Read(time.Now())}}, silence)
			continue
		}
		p.stream.handle(func() { g.accept(p, &line) })
	}
}

// reasonOf says in words why a connection is over.
func reasonOf(err error) string {
	for _, gone := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return "its process ended, or closed the connection"
		}
	}
	return fmt.Sprintf("its connection failed: %v", err)
}

// lose notes that a member is gone. Before the start its number is free again.
func (g *Gatherer) lose(p *peer, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop(p, reason)
}

// drop is lose under the lock.
func (g *Gatherer) drop(p *peer, reason string) {
	defer p.abandon()
	if p.lost != "" || g.peers[p.k] != p {
		return
	}
	if stood := g.stood(); stood > 0 {
		reason = fmt.Sprintf("the gatherer itself stood still for %v, so the shard gave up", stood.Round(100*time.Millisecond))
	}
	reason = foreign.Cut(reason, mostSaid) // it may quote the member
	p.lost = reason
	p.release()
	defer g.note()
	if g.round != nil && g.round.launched {
		if p.merged { // the run needs nothing more of it
			g.mention(&g.left, g.Shards+mostRefused, fmt.Sprintf("%s is gone: %s; its report counts", p.called(), reason))
		}
		return // the run decides
	}
	delete(g.peers, p.k)
	switch {
	case g.ended != nil || p.failed != nil: // the reason is known
	case g.made > 0 && (g.round == nil || g.round.number > 1):
		g.broken = fmt.Errorf("%s was lost between two runs: %s", p.called(), reason)
	default:
		g.mention(&g.left, g.Shards+mostRefused, fmt.Sprintf("%s is gone: %s; waiting for another in its place", p.called(), reason))
	}
}

// stood is how long this process stood still a moment ago; 0: it did not. The lock is held.
func (g *Gatherer) stood() time.Duration {
	if late := time.Since(g.looked) - beat; late > beat {
		return late
	}
	if time.Since(g.stoodAt) < 2*beat {
		return g.stoodFor
	}
	return 0
}

// watch shows the members once a second that the gatherer lives, and looks whether they do.
func (g *Gatherer) watch() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-g.closed:
			return
		case <-ticker.C:
		}
		stood := g.standstill()
		for _, p := range g.all() {
			if stood {
				p.stream.excuse()
			}
			switch quiet := p.stream.silent(); {
			case quiet > silence:
				g.lose(p, silentFor(quiet))
				continue
			case quiet > 2*beat && !p.quiet:
				g.mu.Lock()
				if p.lost == "" {
					g.tell(fmt.Sprintf("nothing has come from %s for %v; after %v it counts as lost", p.called(), quiet.Round(time.Second), silence))
				}
				g.mu.Unlock()
				fallthrough
			default:
				p.quiet = quiet > 2*beat
			}
			p.post(toMember{})
		}
		g.note()
	}
}

// standstill reports whether this process stood still since the last beat. Then its members did not.
func (g *Gatherer) standstill() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	late := time.Since(g.looked) - beat
	g.looked = time.Now()
	if late <= beat {
		return false
	}
	g.stoodAt, g.stoodFor = time.Now(), late
	g.tell(fmt.Sprintf("this process stood still for %v; after %v the shards give up", late.Round(100*time.Millisecond), silence))
	return true
}

// all returns the members by number.
func (g *Gatherer) all() []*peer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inOrder()
}

// Close ends the fleet with an exit code, and says so to its members.
func (g *Gatherer) Close(code int) {
	g.mu.Lock()
	g.ended = &ending{code, g.failed}
	g.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range g.all() {
		all.Go(func() { p.part(toMember{End: g.ended}) })
	}
	all.Wait()
	close(g.closed)
}
