package consume

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/value"
)

// Membership is how takt takes part in a group.
type Membership struct {
	Count    int           // members in this process
	Protocol string        // classic or consumer
	Assignor string        // "": the client's own
	Session  time.Duration // session timeout; 0: the client's own
	Every    time.Duration // one member in turn leaves and joins again; 0: never
	Down     time.Duration // from leaving to joining again
	Kill     bool          // a member does not say that it leaves
}

// The names of Membership.Protocol.
const (
	protocolClassic  = "classic"
	protocolConsumer = "consumer" // KIP-848: brokers assign the partitions
)

// The names of Membership.Assignor.
const (
	assignRange       = "range"
	assignRoundRobin  = "roundrobin"
	assignSticky      = "sticky"
	assignCooperative = "cooperative-sticky"
)

// mostMembers limits the members in one process, each with connections of its own.
const mostMembers = 500

func (m *Membership) addFlags(fs *pflag.FlagSet) {
	fs.IntVar(&m.Count, "members", m.Count, "be `N` members of --group, each with its own connections")
	fs.Var(value.Choice(&m.Protocol, protocolClassic, protocolConsumer), "group-protocol", "rebalance by `classic|consumer`; consumer is KIP-848, in which brokers assign partitions")
	fs.Var(value.Choice(&m.Assignor, assignRange, assignRoundRobin, assignSticky, assignCooperative), "assignor", "assign partitions by `range|roundrobin|sticky|cooperative-sticky` (default: cooperative-sticky, sarama range)")
	fs.Var(value.Duration(&m.Session), "session-timeout", "the group gives up a silent member after `TIME` (default: 45s, sarama 10s)")
	fs.Var(value.Duration(&m.Every), "restart-every", "restart one member in turn every `TIME`, so that the group rebalances")
	fs.Var(value.Duration(&m.Down), "restart-down", "time `TIME` between the end of a member and its return")
	fs.BoolVar(&m.Kill, "restart-kill", false, "end a member without a word: the group notices it after --session-timeout")
}

// check checks the flags against the group and the abilities of the client.
func (o *Options) checkMembership(faults *value.Faults) {
	m := &o.Members
	faults.Range("members", m.Count, 1, mostMembers)
	faults.If(o.Group == "" && m.isGiven(), "--members, --assignor, --group-protocol, --session-timeout and --restart-* are about a group; add --group")
	faults.If(m.Every < 0 || m.Down < 0 || m.Session < 0, "--restart-every, --restart-down and --session-timeout must not be below 0")
	faults.If(m.Every == 0 && (m.Kill || m.Down != downTime), "--restart-down or --restart-kill is given without --restart-every; add it")
	faults.If(m.Every > 0 && m.Every <= m.Down, "--restart-every %v is not above --restart-down %v; a member must be back before the next one goes", m.Every, m.Down)
	faults.If(m.Session > math.MaxInt32*time.Millisecond, "--session-timeout is %v; give at most %v", m.Session, math.MaxInt32*time.Millisecond)
	isSarama := o.Client == cluster.ClientSarama
	faults.If(isSarama && m.Protocol == protocolConsumer, "--client sarama has no --group-protocol consumer; use --client franz")
	faults.If(isSarama && m.Assignor == assignCooperative, "--client sarama has no --assignor cooperative-sticky; use range, roundrobin or sticky, or --client franz")
	faults.If(m.Protocol == protocolConsumer && (m.Assignor == assignRoundRobin || m.Assignor == assignSticky || m.Assignor == assignCooperative),
		"--group-protocol consumer lets the brokers assign; leave out --assignor, or use range")
	faults.If(m.Protocol == protocolConsumer && m.Session > 0, "--group-protocol consumer has the session timeout of the broker (group.consumer.session.timeout.ms); leave out --session-timeout")
}

// downTime is the default of --restart-down.
const downTime = time.Second

func (m *Membership) isGiven() bool {
	return m.Count > 1 || m.Assignor != "" || m.Protocol != protocolClassic || m.Session > 0 || m.Every > 0
}

// variables adds the settings that differ from those of one plain member.
func (m *Membership) variables(v map[string]any) {
	v["members"], v["group_protocol"] = m.Count, m.Protocol
	if m.Assignor != "" {
		v["assignor"] = m.Assignor
	}
	if m.Session > 0 {
		v["session_timeout_s"] = m.Session.Seconds()
	}
	if m.Every > 0 {
		v["restart_every_s"], v["restart_down_s"], v["restart_kill"] = m.Every.Seconds(), m.Down.Seconds(), m.Kill
	}
}

// franz are the settings for franz-go.
func (m *Membership) franz() (opts []kgo.Opt) {
	balancer := map[string]kgo.GroupBalancer{
		assignRange: kgo.RangeBalancer(), assignRoundRobin: kgo.RoundRobinBalancer(), assignSticky: kgo.StickyBalancer(), assignCooperative: kgo.CooperativeStickyBalancer(),
	}[m.Assignor]
	if m.Protocol == protocolConsumer {
		opts = append(opts, kgo.ServerSideBalancer())
		if balancer == nil {
			balancer = kgo.StickyBalancer() // the brokers' own uniform assignor
		}
	}
	if balancer != nil {
		opts = append(opts, kgo.Balancers(balancer))
	}
	if m.Session > 0 {
		opts = append(opts, kgo.SessionTimeout(m.Session), kgo.HeartbeatInterval(min(3*time.Second, m.Session/3)))
	}
	return opts
}

// sarama sets the settings in the configuration of a sarama client.
func (m *Membership) sarama(c *sarama.Config) {
	g := &c.Consumer.Group
	if strategy := map[string]sarama.BalanceStrategy{
		assignRange: sarama.NewBalanceStrategyRange(), assignRoundRobin: sarama.NewBalanceStrategyRoundRobin(), assignSticky: sarama.NewBalanceStrategySticky(),
	}[m.Assignor]; strategy != nil {
		g.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	}
	if m.Session > 0 {
		g.Session.Timeout, g.Heartbeat.Interval = m.Session, min(3*time.Second, m.Session/3)
	}
}

// members is a Consumer of several members of a group, which may come and go.
type members struct {
	*Options
	r     *Receiver
	first []Consumer // opened before the run, so that it fails early
	wires []*wire    // by member, to be cut by --restart-kill; otherwise nil
	mu    sync.Mutex
	ends  []context.CancelCauseFunc // ends the member that runs now
}

// errRestart ends a member that comes back.
var errRestart = errors.New("the member is restarted")

func (o *Options) openMembers(r *Receiver) (Consumer, error) {
	m := &members{Options: o, r: r, ends: make([]context.CancelCauseFunc, o.Members.Count)}
	for i := range o.Members.Count {
		m.wires = append(m.wires, nil)
		c, err := m.open(i)
		if err != nil {
			m.Close()
			return nil, err
		}
		m.first = append(m.first, c)
	}
	return m, nil
}

// open opens member i.
func (m *members) open(i int) (Consumer, error) {
	one := *m.Options
	one.member = i
	if m.Members.Count > 1 {
		one.ClientID = fmt.Sprintf("%s-%d", m.ClientID, i+1)
		if m.Instance != "" {
			one.Instance = fmt.Sprintf("%s-%d", m.Instance, i+1)
		}
	}
	if m.Members.Kill {
		m.wires[i] = &wire{dial: m.Dial}
		one.Dial = m.wires[i].connect
	}
	return one.connectMember(m.r)
}

// consume implements Consumer: it runs all members until ctx ends.
func (m *members) consume(ctx context.Context, take taking) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var all sync.WaitGroup
	first := m.first
	m.first = nil
	for i, c := range first {
		all.Go(func() {
			if err := m.serve(ctx, i, c, take); err != nil {
				fail(err)
			}
		})
	}
	if m.Members.Every > 0 {
		all.Go(func() { m.restart(ctx) })
	}
	all.Wait()
	return context.Cause(ctx)
}

// serve runs member i, again and again. Its error ends the run.
func (m *members) serve(ctx context.Context, i int, c Consumer, take taking) (err error) {
	for {
		one, end := context.WithCancelCause(ctx)
		m.mu.Lock()
		m.ends[i] = end
		m.mu.Unlock()
		err = c.consume(one, take)
		back := errors.Is(context.Cause(one), errRestart)
		end(nil)
		unheard := m.Members.Kill || m.Instance != "" // the group does not hear that the member leaves
		if back && m.Members.Kill {
			m.wires[i].cut()
		}
		if back && unheard { // before the client says that it leaves, which would look like partitions that others read
			m.r.leaveAll(i)
		}
		c.Close()
		if !back {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if !unheard {
			m.r.leaveAll(i)
		}
		if !pause.For(m.Members.Down, ctx.Done()) {
			return nil
		}
		if c, err = m.open(i); err != nil {
			return fmt.Errorf("member %d cannot come back: %w", i+1, err)
		}
		m.r.restarted()
	}
}

// settled waits until the group has begun.
func (m *members) settled(ctx context.Context) {
	for began := time.Now(); ctx.Err() == nil && !m.r.isSettled(); {
		if m.Members.Protocol == protocolConsumer && time.Since(began) > settleTime {
			m.r.settle()
		}
		pause.For(20*time.Millisecond, ctx.Done())
	}
}

// restart ends one member after the other, once the group has begun.
func (m *members) restart(ctx context.Context) {
	m.settled(ctx)
	tick := time.NewTicker(m.Members.Every)
	defer tick.Stop()
	for i := 0; ; i = (i + 1) % m.Members.Count {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		m.mu.Lock()
		m.ends[i](errRestart)
		m.mu.Unlock()
	}
}

// Follow implements Consumer: a group finds partitions itself.
func (m *members) Follow(string, int32, int32) {}

// Close implements Consumer. After consume no member is open.
func (m *members) Close() {
	for _, c := range m.first {
		c.Close()
	}
}

// wire is the connections of one member, which can be cut.
type wire struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu    sync.Mutex
	conns []net.Conn
	over  bool
}

var errCut = errors.New("the connections of this member were cut")

func (w *wire) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := w.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		conn.Close()
		return nil, errCut
	}
	w.conns = append(w.conns, conn)
	return conn, nil
}

// cut closes all connections for good: the brokers see a process that was killed.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for _, c := range w.conns {
		c.Close()
	}
}

// placesOf are the partitions in what a client library calls an assignment.
func placesOf(byTopic map[string][]int32) (list []place) {
	for topic, partitions := range byTopic {
		for _, n := range partitions {
			list = append(list, place{topic, n})
		}
	}
	slices.SortFunc(list, compare)
	return list
}
