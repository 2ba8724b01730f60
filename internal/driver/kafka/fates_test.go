package kafka

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// dice are shared by the connections of a run.
type dice struct {
	mu sync.Mutex
	*rand.Rand
	calm bool // nothing goes wrong any more
}

func (d *dice) set(calm bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calm = calm
}

// below reports whether something of this chance happens.
func (d *dice) below(chance float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.calm && d.Float64() < chance
}

// upTo is a time below most.
func (d *dice) upTo(most time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.Int64N(int64(most)))
}

// shaky is a connection that loses requests and answers, and delays answers.
type shaky struct {
	net.Conn
	*dice
	late time.Duration // longest delay of an answer

	state    sync.Mutex
	deadline time.Time // for reading
	closed   bool
	kept     []byte // answer that came after a deadline
}

func (c *shaky) Close() error {
	c.state.Lock()
	c.closed = true
	c.state.Unlock()
	return c.Conn.Close()
}

func (c *shaky) SetReadDeadline(at time.Time) error {
	c.state.Lock()
	c.deadline = at
	c.state.Unlock()
	return c.Conn.SetReadDeadline(at)
}

func (c *shaky) SetDeadline(at time.Time) error {
	_ = c.SetReadDeadline(at)
	return c.Conn.SetDeadline(at)
}

// Write loses a part of a request, or the connection right behind the request.
func (c *shaky) Write(p []byte) (int, error) {
	if c.below(0.02) {
		n, _ := c.Conn.Write(p[:len(p)/2])
		c.Close()
		return n, io.ErrClosedPipe
	}
	n, err := c.Conn.Write(p)
	if err == nil && c.below(0.02) {
		c.Close()
	}
	return n, err
}

// Read loses an answer and the connection, or delays the answer.
func (c *shaky) Read(p []byte) (int, error) {
	if len(c.kept) > 0 {
		n := copy(p, c.kept)
		c.kept = c.kept[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p)
	if err != nil {
		return n, err
	}
	if c.below(0.03) {
		c.Close()
		return 0, io.EOF
	}
	if !c.below(0.05) {
		return n, nil
	}
	for until := time.Now().Add(c.upTo(c.late)); time.Now().Before(until); time.Sleep(time.Millisecond) {
		c.state.Lock()
		closed, deadline := c.closed, c.deadline
		c.state.Unlock()
		if closed {
			return 0, net.ErrClosed
		}
		if !deadline.IsZero() && !time.Now().Before(deadline) {
			c.kept = slices.Clone(p[:n])
			return 0, os.ErrDeadlineExceeded
		}
	}
	return n, nil
}

// Whatever happens to requests and answers, each record that is in the topic was acknowledged, or takt
// says that it may be there. Where brokers drop copies there are none, and takt blames nobody else
// for a surplus.
func TestFatesOfRecords(t *testing.T) {
	three := []kfake.Opt{kfake.NumBrokers(3)}
	for _, acks := range []string{produce.AcksLocal, produce.AcksAll} {
		for seed := range uint64(20) {
			for _, client := range clients() {
				// These wait for a broker with a locked mutex, which is no wait to synctest.
				real := client == cluster.ClientSarama || client == cluster.ClientSaramaAsync || client == cluster.ClientFranz && acks == produce.AcksAll
				if real && seed >= 2 {
					continue
				}
				o := produce.New()
				o.Client, o.Acks, o.Timeout = client, acks, time.Second
				f := &fates{luck: &dice{Rand: rand.New(rand.NewPCG(seed, 1)), calm: true}, Options: o, real: real}
				t.Run(fmt.Sprintf("%s/%s/%d", client, acks, seed), func(t *testing.T) {
					if real {
						t.Parallel()
						c := broker(t, three...)
						o.Brokers = c.ListenAddrs()[0]
						f.check(t, c)
						return
					}
					synctest.Test(t, func(t *testing.T) {
						c := virtual(t, &o.Cluster, append(three, kfake.Ports(19092, 19093, 19094))...)
						defer c.Close()
						f.check(t, c)
					})
				})
			}
		}
	}
}

// fates is a run whose connections are shaky, except while its first and last questions are asked.
type fates struct {
	*produce.Options
	luck *dice
	real bool // in real time
}

func (o *fates) check(t *testing.T, c *kfake.Cluster) {
	const most, inFlight = 2000, 50
	o.BatchSize, o.MessageSize = 10, 100
	luck := o.luck
	sure := o.Dial
	p := plan(t, o.Options, func(e *engine.Options) {
		e.Rate, e.Requests, e.Drain = engine.MustRate("1000/s"), most, engine.DrainOf(luck.upTo(time.Second))
	})
	o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := sure(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &shaky{Conn: conn, dice: luck, late: 3 * o.Timeout}, nil
	}
	for _, e := range []*kerr.Error{kerr.RequestTimedOut, kerr.NotEnoughReplicas, kerr.LeaderNotAvailable, kerr.UnknownTopicOrPartition, kerr.InvalidRecord, kerr.MessageTooLarge} {
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: e, Count: -1, When: func(kmsg.Request) bool { return luck.below(0.01) }})
	}
	var start time.Time
	open := p.Driver.Async
	p.Driver.Async = func(i int, sink takt.Sink) (*takt.AsyncClient, error) {
		a, err := open(i, sink)
		if err == nil {
			started := a.Started
			a.Started = func(at time.Time) {
				start = at
				luck.set(false)
				started(at)
			}
		}
		return a, err
	}
	stop := time.AfterFunc(1800*time.Millisecond, func() { luck.set(true) })
	defer stop.Stop()
	all, r := rows(t, p)

	o.Dial = sure
	time.Sleep(4 * o.Timeout) // what connections and brokers hold arrives
	at, err := o.ListOffsets(t.Context(), []int32{0, 1, 2}, cluster.OffsetLatest, false)
	if err != nil {
		t.Fatal(err)
	}
	there := uint64(at[0] + at[1] + at[2])
	copies := map[int64]int{}
	for _, list := range read(t, c, there, kgo.Dialer(sure)) {
		for _, rec := range list {
			s, _ := cluster.ReadStamp(rec.Value)
			copies[s.Due-start.UnixNano()]++
		}
	}
	var ok, failed, lost, extra uint64
	for _, s := range all {
		n := copies[int64(s.Due)]
		delete(copies, int64(s.Due))
		switch {
		case s.Class == "" && n == 0:
			lost++
		case s.Class == "":
			ok++
		case n > 0:
			failed++
		}
		if n > 1 {
			extra += uint64(n - 1)
		}
	}
	text := ""
	for _, w := range r.Warnings {
		text += w.Message
	}
	l := r.Ledger
	t.Logf("%d ok, %d others are there, %d copies; %+v; %+v %v", ok, failed, extra, l, r.Counts, r.Errors)
	if ok+failed > l.Acknowledged+l.Uncertain || l.Surplus > extra {
		t.Error("records are in the topic that are neither acknowledged nor uncertain")
	}
	if lost > 0 || len(copies) > 0 || l.Uncertain > r.Counts.Failed+r.Counts.Unfinished {
		t.Errorf("%d acknowledged records are lost, %d are of nobody", lost, len(copies))
	}
	if l.Acknowledged > r.Counts.OK+inFlight && !o.real { // on a busy machine the cut takes long enough for more answers
		t.Error("takt sent records after the end of the run")
	}
	if o.Idempotence && o.Client == cluster.ClientTakt && extra > 0 {
		t.Errorf("%d copies, of a producer whose copies brokers drop", extra)
	}
	if strings.Contains(text, "another producer wrote") {
		t.Error(text)
	}
}

// slow is a connection whose answers come late.
type slow struct {
	net.Conn
	by time.Duration
}

func (c slow) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(c.by)
	return n, err
}

// The run ends with the cut: what waited for a writer until then is never sent, however long it takes
// until the watch of the topic ends, here because its new connection gets no answer.
func TestNothingIsSentAfterTheRun(t *testing.T) {
	const inFlight = 50
	for _, client := range []string{cluster.ClientTakt, cluster.ClientFranz} {
		t.Run(client, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := produce.New()
				c := virtual(t, &o.Cluster)
				defer c.Close()
				o.Client, o.BatchSize = client, 10
				p := plan(t, o, func(e *engine.Options) {
					e.Rate, e.Requests, e.Drain = engine.MustRate("1000/s"), 1000, engine.DrainOf(100*time.Millisecond)
				})
				broken := time.Now().Add(900 * time.Millisecond)
				dial := o.Dial
				o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := dial(ctx, network, addr)
					if time.Now().After(broken) {
						return slow{conn, 2 * time.Second}, err
					}
					return conn, err
				}
				c.ControlKey(kmsg.Metadata.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
					c.KeepControl()
					return nil, io.EOF, time.Now().After(broken)
				})
				produced(c, func(int, *kmsg.ProduceRequest) kmsg.Response {
					time.Sleep(20 * time.Millisecond)
					return nil
				})
				_, r := rows(t, p)
				if l := r.Ledger; r.Counts.Unfinished <= inFlight || l.Acknowledged+l.Uncertain > r.Counts.OK+inFlight {
					t.Errorf("%+v, counts %+v: takt sent records after the run", l, r.Counts)
				}
			})
		})
	}
}

// franz-go fails all records of a partition with the refusal of one batch. The broker has those that it
// accepts meanwhile.
func TestLedgerOfAcceptedRecordsThatALibraryFails(t *testing.T) {
	for try := 0; !t.Failed(); try++ {
		refused, r := uint64(0), (*takt.Report)(nil)
		synctest.Test(t, func(t *testing.T) {
			o := produce.New()
			c := virtual(t, &o.Cluster)
			defer c.Close()
			o.Client, o.BatchSize, o.Writers = cluster.ClientFranz, 10, 20
			dial := o.Dial
			o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				return slow{conn, 10 * time.Millisecond}, err
			}
			produced(c, func(n int, req *kmsg.ProduceRequest) kmsg.Response {
				if n%7 != 3 {
					return nil
				}
				resp := acknowledged(req).(*kmsg.ProduceResponse)
				for i := range resp.Topics[0].Partitions {
					var b kmsg.RecordBatch
					if err := b.ReadFrom(req.Topics[0].Partitions[i].Records); err != nil {
						t.Error(err)
					}
					refused += uint64(b.NumRecords)
					resp.Topics[0].Partitions[i].ErrorCode = kerr.InvalidRecord.Code
				}
				return resp
			})
			_, r = rows(t, plan(t, o, func(e *engine.Options) { e.Rate, e.Requests = engine.MustRate("100000/s"), 3000 }))
		})
		if r.Ledger.Surplus > 0 {
			t.Errorf("%+v, counts %+v, %d refused", r.Ledger, r.Counts, refused)
		}
		if r.Counts.Failed > refused {
			return
		}
		if try == 20 { // about one in twenty fails no others
			t.Errorf("counts %+v, %d refused: the library fails no others any more", r.Counts, refused)
		}
	}
}
