package replay

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/users"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// per is the flag --per: what a user of the log is. The zero value means that there are no users.
type per struct {
	kind string // perClient, perHeader or perCookie
	name string // of the header or cookie
}

// The kinds of per.
const (
	perClient = "client"
	perHeader = "header"
	perCookie = "cookie"
)

// String implements flag.Value.
func (p *per) String() string {
	if p.name != "" {
		return p.kind + ":" + p.name
	}
	return p.kind
}

// Set implements flag.Value.
func (p *per) Set(text string) error {
	kind, name, named := strings.Cut(text, ":")
	switch {
	case kind == perClient && !named, (kind == perHeader || kind == perCookie) && name != "":
		*p = per{kind, name}
		return nil
	}
	return fmt.Errorf("%.60q is not a user of a log; write client, header:NAME or cookie:NAME", text)
}

// given reports whether the log has users.
func (p *per) given() bool { return p.kind != "" }

// key is the user of a request; empty: the log does not say.
func (p *per) key(rec *trace.Record) []byte {
	switch p.kind {
	case perHeader:
		return rec.Field(p.name)
	case perCookie:
		return cookie(rec.Cookie, p.name)
	}
	return rec.Client
}

// cookie is the value of a cookie in a Cookie header.
func cookie(header []byte, name string) []byte {
	for pair := range bytes.SplitSeq(header, []byte(";")) {
		if n, v, ok := bytes.Cut(bytes.TrimSpace(pair), []byte("=")); ok && string(n) == name {
			return v
		}
	}
	return nil
}

// checkUsers refuses flags that contradict --per.
func (o *Options) checkUsers(faults *value.Faults) {
	e := o.engine
	faults.If(o.Think && !o.Per.given(), "--think is given without --per; give --per client, so that takt knows whose answer a request waits for")
	faults.If(!o.Per.given() && o.UserIdle != usualIdle, "--user-idle is given without --per; give --per client")
	faults.If(len(o.HTTP.Sessions.Captures) > 0 && !o.HTTP.Sessions.On, "--capture is given without --session; add --session")
	if !o.Per.given() {
		faults.If(o.HTTP.Sessions.On, "--session is given without --per; give --per client, so that takt knows whose answers set which cookies")
		return
	}
	faults.If(e.Closed(), "--per needs the recorded times or a rate; leave out --rate max")
	faults.If(e.Connections > 0 && !e.Closed(), "both --per and -c or --serialize are given; leave them out, each user has one connection, and --max-in-flight limits how many are open")
	faults.If(o.Think && !e.Recorded, "both --think and a rate are given; keep one, a rate takes no times from the log")
	faults.If(o.Think && o.Seed.Tail, "both --think and --tail are given; keep one")
	faults.If(o.Think && o.Seed.Thunder, "both --think and --thunder are given; keep one")
	faults.If(o.Seed.TimeBudget, "both --per and --timeBudget are given; keep one, --timeBudget sends nothing")
	faults.Add(o.HTTP.CheckUsers("--per"))
}

// usualIdle is the default of --user-idle: browsers and servers close idle connections after 5 s
// to 5 min.
const usualIdle = time.Minute

// openUsers opens the driver of a run with users.
func (o *Options) openUsers() (*takt.Driver, error) {
	var keys []byte
	var seen keyed
	records := sync.Pool{New: func() any { return new(trace.Record) }}
	run := o.run.Load()
	crowd := users.Options{
		Seats: o.engine.InFlight(), Idle: o.UserIdle,
		Key: func(op *takt.Op) []byte {
			keys = o.userKey(keys[:0], op)
			seen.count(len(o.Per.key(op.Data.(*trace.Record))) > 0)
			return keys
		},
		Spare: records.Get,
		Free:  records.Put,
		// Nobody comes back, so neither a connection nor a memory would be of use.
		Leaves: func(op *takt.Op) bool { return len(o.Per.key(op.Data.(*trace.Record))) == 0 },
	}
	if o.HTTP.Sessions.On {
		crowd.Memory = func() any { return new(session.Session) }
	}
	if run.thinker != nil {
		crowd.Rests = func(u *users.User, at time.Time) { run.thinker.rests(u.Key, at) }
	}
	d, _, err := o.HTTP.Users(crowd)
	if err != nil {
		return nil, err
	}
	o.withUsers(d, &seen)
	if t := run.thinker; t != nil {
		open := d.Async
		d.Async = func(i int, sink takt.Sink) (*takt.AsyncClient, error) {
			c, err := open(i, sink)
			if err == nil {
				started := c.Started
				c.Started = func(at time.Time) {
					t.begin(at, sink.Wake)
					started(at)
				}
			}
			return c, err
		}
	}
	return d, nil
}

// nobody begins the key of a request without a user.
const nobody = '#'

// userKey appends the name of an operation's user. A request without one is a user of its own.
func (o *Options) userKey(dst []byte, op *takt.Op) []byte {
	if key := o.Per.key(op.Data.(*trace.Record)); len(key) > 0 {
		return append(dst, key...)
	}
	return strconv.AppendUint(append(dst, nobody), op.Seq, 10)
}
