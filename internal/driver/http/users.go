package http

import (
	"context"
	"net/url"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/users"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// spareFiles are open files that a run needs beside its connections.
const spareFiles = 64

// Users opens the driver of a run in which each user has a connection of its own. Seats is at most
// crowd.Seats, and less if the process may not open as many files.
func (o *Options) Users(crowd users.Options) (*takt.Driver, *users.Crowd, error) {
	list, err := o.servers()
	if err != nil {
		return nil, nil, err
	}
	return o.usersOf(crowd, list, o.userLoop, o.finish)
}

// UsersTo is OpenTo for users with connections of their own to u.
func (o *Options) UsersTo(u *url.URL, crowd users.Options, loop func() *takt.Loop) (*takt.Driver, *users.Crowd, error) {
	return o.usersOf(crowd, []*url.URL{u}, func(*url.URL, func(int) *users.User) *takt.Loop { return loop() }, o.FinishTo)
}

// usersOf opens the driver of users with connections to all hosts of the list.
func (o *Options) usersOf(crowd users.Options, list []*url.URL, loop func(u *url.URL, user func(conn int) *users.User) *takt.Loop, finish func(context.Context, *takt.Report) error) (*takt.Driver, *users.Crowd, error) {
	if limit, used := proc.OpenFiles(); limit > 0 && o.World == nil {
		if limit < used+2*spareFiles {
			return nil, nil, value.Faultf("too many open files: the limit is %d, and %d are in use; run 'ulimit -n %d'", limit, used, used+1000)
		}
		crowd.Seats = min(crowd.Seats, max(1, int(limit-used-spareFiles)/len(list)))
	}
	if err := o.TLS.Open(); err != nil {
		return nil, nil, err
	}
	o.Sessions.begin()
	if o.HTTP2 {
		o.muxes = new(muxes)
	}
	var c *users.Crowd
	all := &perHost{to: serverOf}
	var probe []func(context.Context) error
	for _, u := range list {
		one, connect := engine.Connections(o.World, loop(u, func(i int) *users.User { return c.At(i) }))
		probe, all.make = append(probe, one), append(all.make, connect)
	}
	crowd.World = o.World
	if crowd.Connect = all.connection; len(list) == 1 {
		crowd.Connect = all.make[0]
	}
	c = users.New(crowd)
	return &takt.Driver{
		Phases: engine.NetPhases,
		Probe:  probes(probe),
		Queues: true,
		Async:  func(_ int, sink takt.Sink) (*takt.AsyncClient, error) { return c.Client(sink), nil },
		Finish: func(ctx context.Context, r *takt.Report) error {
			seen := c.Seen()
			seen.Open = max(seen.Open, int(all.most.Load()))
			describeUsers(r, seen, crowd.Seats)
			o.Sessions.describe(r)
			return finish(ctx, r)
		},
		Close: o.close,
	}, c, nil
}

// servers are those that users connect to.
func (o *Options) servers() ([]*url.URL, error) {
	if s, ok := o.requests.(*scenario); ok {
		return s.Hosts, nil
	}
	u, err := o.home()
	return []*url.URL{u}, err
}

// userLoop describes connections to u, each used by one user after the other.
func (o *Options) userLoop(u *url.URL, user func(conn int) *users.User) *takt.Loop {
	s, ok := o.requests.(*scenario)
	if !ok {
		return o.LoopTo(u, func(i int) takt.Codec { return o.codecOf(func() *users.User { return user(i) }) })
	}
	l := o.LoopTo(u, func(int) takt.Codec { return s.codec(u) })
	if o.HTTP2 {
		l.Mux = func(int) takt.Mux { return s.mux(u) }
		o.agree(l)
	}
	return l
}

// describeUsers adds to the report what was seen of users.
func describeUsers(r *takt.Report, s users.Seen, seats int) {
	r.Extra["users"] = map[string]any{
		"count": s.Users, "connections_max": s.Open, "connections_idled": s.Idled, "connections_evicted": s.Evicted,
		"waited_for_answer": s.Waited, "waited_for_connection": s.Crowded,
	}
	if s.Evicted+s.Crowded > 0 {
		r.Warn(warn.UsersCrowded, "more users at once than the %d connections that the run may have: %d idle connections were closed early, and %d users waited for a connection; %s",
			takt.Number("connections", seats), takt.Number("evicted", s.Evicted), takt.Number("waited", s.Crowded), takt.Advice("raise --max-in-flight, or the limit of open files"))
	}
}

// CheckUsers reports what the flags ask for that users with connections of their own do not have.
func (o *Options) CheckUsers(flag string) error {
	why := o.needsNet()
	switch {
	case o.HTTP2 && o.Scenario == "":
		why = "HTTP/2 (--h2)"
	case why == "" && o.Client == clientNet:
		why = "net/http (--client net)"
	case why == "":
		return nil
	}
	return value.Faultf("%s gives each user a connection of takt's own client, which has no %s; drop one of the two", flag, why)
}
