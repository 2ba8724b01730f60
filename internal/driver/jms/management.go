package jms

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/driver/jms/manage"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/value"
)

// askTime limits what takt asks Artemis before the run, and what it asks after the run.
const askTime = 2 * time.Second

var errOtherBroker = errors.New("the broker is not Artemis; of RabbitMQ, --management names the URL to ask")

// read asks the broker of a line about queues, on a connection of its own: a broker that
// refuses may end it.
func (l *line) read(ctx context.Context, queues []string) (*manage.Reading, error) {
	if l.conn().Peer().Properties["product"] != manage.ArtemisProduct {
		return nil, errOtherBroker
	}
	member := l.broker.members()[l.member]
	c, err := member.dial(ctx, amqp.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(ctx) }() // the answers are there
	return manage.Artemis(ctx, c, member.addr, queues)
}

// maxAsked limits the queues that takt asks about: each is a request.
const maxAsked = 100

// askable returns an error if the broker's counters say nothing of this run.
func (r *run) askable() error {
	switch {
	case !r.o.sends:
		return errors.New("a consumer does not know what was sent")
	case len(r.o.destinations) > maxAsked:
		return fmt.Errorf("there are more than %d queues", maxAsked)
	}
	first := r.producers[0].line
	for _, p := range r.producers {
		if p.dest.topic {
			return errors.New("each subscription of a topic has its own queue")
		}
		if r.o.manager == nil && p.line.conn().address(p.dest) != p.dest.name || r.o.QueuePrefix != "" || strings.HasPrefix(p.dest.name, "/") {
			return errors.New("addresses have a prefix")
		}
		if p.line.addr() != first.addr() {
			return errors.New("the producers are connected to several brokers")
		}
	}
	return nil
}

// addr is the address of the member that is connected, or tried next. tend does not run.
func (l *line) addr() string { return l.broker.members()[l.member].addr }

// read asks --management, or else the producers' broker.
func (r *run) read(ctx context.Context) (*manage.Reading, error) {
	if err := r.askable(); err != nil {
		return nil, err
	}
	var queues []string
	for _, d := range r.o.destinations {
		queues = append(queues, d.name)
	}
	if r.o.manager != nil {
		return r.o.manager.Read(ctx, queues)
	}
	return r.producers[0].line.read(ctx, queues)
}

// counters are the broker's counters before the run.
type counters struct {
	before *manage.Reading // nil: unknown
	unread error           // why before is nil; nil: a consumer
	slow   bool            // the broker has counters, and did not answer in time
}

// readBefore reads the counters before the run. A broker that does not answer is none of the
// run's business, unless the user asked for its counters.
func (r *run) readBefore(ctx context.Context) error {
	ctx, cancel := r.o.askFor(ctx)
	defer cancel()
	var err error
	if r.before, err = r.readSettled(ctx); err == nil {
		return nil
	}
	r.before, r.unread = nil, err
	if ctx.Err() != nil { // a slow broker has counters, too
		r.unread, r.slow = context.Cause(ctx), true
	}
	r.o.follower.say("no ledger: %v", r.unread)
	if r.o.manager != nil {
		return fmt.Errorf("there can be no ledger: %w", r.unread)
	}
	return nil
}

// askFor limits the time of questions to the broker.
func (o *Options) askFor(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.manager != nil {
		return context.WithTimeoutCause(ctx, lagTime, fmt.Errorf("the counters of the broker are too old, or it does not answer, within %v", lagTime))
	}
	return context.WithTimeoutCause(ctx, askTime, errors.New("the broker does not answer"))
}

// A queue of Artemis may count a message after its acknowledgement.
const (
	countedEvery = 20 * time.Millisecond // time between two readings
	countedTime  = time.Second           // time after which missing messages are given up
)

// Counters that lag are read until they contain whatever happened before the first reading. RabbitMQ
// 3.10 showed messages up to 16 s after they were sent, and the age of its node changes every 5 s.
const (
	freshBeats = 5
	lagEvery   = 200 * time.Millisecond // time between two readings
	lagTime    = 28 * time.Second       // time after which the counters are given up
)

// waiting is the wait for counters that contain what happened before.
type waiting struct {
	until time.Time     // for counters that do not lag
	beat  time.Duration // age of the broker when it last counted; negative: no reading
	beats int
	every time.Duration // time until the next reading
}

func newWaiting() *waiting { return &waiting{until: time.Now().Add(countedTime), beat: -1} }

// last notes a reading, and reports whether no later reading can differ.
func (w *waiting) last(r *manage.Reading) bool {
	if !r.Lags {
		w.every = countedEvery
		return !time.Now().Before(w.until)
	}
	if w.beat >= 0 && r.Uptime != w.beat {
		w.beats++
	}
	w.every, w.beat = lagEvery, r.Uptime
	return w.beats >= freshBeats
}

func (w *waiting) pause(ctx context.Context) bool { return pause.For(w.every, ctx.Done()) }

// readSettled reads counters that contain what happened before the call. A queue that does not exist
// yet has none.
func (r *run) readSettled(ctx context.Context) (*manage.Reading, error) {
	for w := newWaiting(); ; {
		now, err := r.read(ctx)
		if err != nil || !now.Lags || now.Empty() || w.last(now) {
			return now, err
		}
		if !w.pause(ctx) {
			return nil, context.Cause(ctx)
		}
	}
}

// readManagement reads --management.
func (o *Options) readManagement() error {
	o.manager = nil
	if o.Management == "" {
		return nil
	}
	first := o.Broker.broker
	roots, err := o.authorities()
	switch {
	case err != nil && first.tls != nil: // readTLS says so
		return nil
	case err != nil:
		return err
	}
	o.manager, err = manage.NewRabbitMQ(o.Management, first.user, first.password, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure, RootCAs: roots})
	return value.About(err, "--management")
}
