// Package http is the driver of takt http: one operation is one request. Two
// clients stand behind it: takt's own codec, which allocates nothing, and
// net/http.
package http

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/tlsflags"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// The names of Options.Client.
const (
	clientAuto = "auto"
	clientOwn  = "own"
	clientNet  = "net"
)

// stdin as a file name.
const stdin = "-"

// Options are the flags of takt http beyond those of every load command.
type Options struct {
	Request
	Way
	Answers

	Targets      string      // a file of requests instead of one
	Scenario     string      // a file of steps that each user performs in order
	Rounds       engine.Rate // of the scenario, instead of a rate
	ScenarioFile io.Reader   // content of the file Scenario; nil: takt opens it
	Stdin        io.Reader   // of -D - and --targets -; nil: empty

	Sessions  Sessions  // of the users of a Recording
	Recording Recording // makes the requests instead of the flags; nil: they do

	ContrastFor time.Duration // of the closed loop after the run; 0: none
	World       engine.World  // of users; nil: this machine

	shape
	shared

	url      *url.URL // of the argument; nil: the targets say where
	target   string   // of a request to url: path and query, with placeholders
	body     []byte   // of all requests that bring none of their own
	requests requests
	odd      int         // lines of a file that are in the URL and look as if they were not meant so
	oddIn    string      // that file
	attended attended    // whoever waits for Validate
	keep     int         // bytes of targets that are kept in memory
	list     *targetList // nil: one request, no list
}

// Request is what is sent.
type Request struct {
	Method       string
	Header       httpreq.Header
	Accept       string
	UserAgent    string
	Body         string
	BodyFile     string
	BodyTemplate bool // placeholders count in BodyFile too
	ContentType  string
	Credentials  httpreq.Credentials
	Host         string
}

// Way is how requests get to the server.
type Way struct {
	Timeout            time.Duration // of a request, from sent to done
	ConnectTimeout     time.Duration
	DisableCompression bool
	DisableKeepAlive   bool
	DisableRedirects   bool
	Redirects          int
	HTTP2              bool
	HTTP2Connections   int
	HTTP2Streams       int // on each connection; 0: as the other options say
	Proxy              Proxy
	UnixSocket         string
	ConnectTo          ConnectTo
	TLS                tlsflags.Flags
	Client             string
}

// Answers is which answers count as failed, and what is measured within them.
type Answers struct {
	FailOn     httpreq.FailOn
	ExpectBody httpreq.Pattern
	Stream     bool  // answers come in parts, which are measured
	StreamMost int64 // bytes of such an answer
}

// shape is what the options of the load say, set by Shape.
type shape struct {
	load       *engine.Options // that Shape got last
	seed       uint64          // of placeholders with random values
	conns      int             // of the contrast
	inFlight   int             // most operations in flight
	warmup     time.Duration
	part       uint64 // of the schedule, from 0, that the run sends
	parts      uint64
	givenUsers int  // -c, with a scenario
	users      int  // of a scenario without a rate; 0: there is a rate
	closed     bool // the run has no schedule
	fixedPool  bool // the user says how many connections there are
	loops      bool // the engine may use its loop
	streams    int  // most on a connection
}

// shared is what the connections of a run share.
type shared struct {
	traces  payload.Traces // of the run
	run     payload.Run    // its id
	muxes   *muxes         // nil: no HTTP/2 in the loop
	room    http1.Room     // of the bodies that are read
	stale   atomic.Uint64  // operations that met the end of a kept connection
	dialled atomic.Uint64  // connections of net/http
}

// New are the options with their defaults.
func New() *Options {
	return &Options{
		Request: Request{Method: "GET", UserAgent: "takt", ContentType: "text/html"},
		Way:     Way{Timeout: 20 * time.Second, ConnectTimeout: 5 * time.Second, HTTP2Connections: 1, Client: clientAuto, TLS: tlsflags.New()},
		Answers: Answers{FailOn: httpreq.DefaultFailOn(), StreamMost: defaultStreamMost},
		keep:    keepTargets,
	}
}

// Validate reports every fault at once and prepares the requests.
func (o *Options) Validate(args []string) []error {
	faults := o.checkPairs()
	faults.Add(o.parseURL(args), o.readBody(), o.Credentials.Read(), o.checkBounds(), o.checkRoute(), o.TLS.Read())
	if len(faults) == 0 {
		faults = o.build()
	}
	if len(faults) == 0 {
		faults = o.checkClient()
	}
	return faults
}

func (w *Way) checkBounds() error {
	switch {
	case w.Timeout <= 0 || w.ConnectTimeout <= 0:
		return value.Faultf("--timeout and --connect-timeout must be above 0; a request without a bound can hang for ever")
	case w.Redirects < 0:
		return value.Faultf("--redirects is %d; give how many may be followed, 0 for none", w.Redirects)
	case w.HTTP2Connections < 1:
		return value.Faultf("--h2-connections is %d; give a number above 0", w.HTTP2Connections)
	case w.HTTP2Streams < 0:
		return value.Faultf("--h2-streams is %d; give a number above 0, or leave it out", w.HTTP2Streams)
	}
	return nil
}

// checkPairs refuses flags that mean nothing beside what else is given.
func (o *Options) checkPairs() (faults value.Faults) {
	faults = o.checkWay()
	faults.If(isNumber(o.Method), "the method is %s; -m is the method, and h2load's -m %[1]s is --h2 --h2-streams %[1]s", o.Method)
	faults.If(o.DisableRedirects && o.Redirects > 0, "both --redirects and --disable-redirects are given; keep one")
	o.checkScenario(&faults)
	faults.If(o.Targets != "" && !strings.EqualFold(o.Method, "GET"), "both -m and --targets are given; drop -m, every target says its own method")
	hosts := o.Host + o.Header.Text("host")
	faults.If(strings.Contains(hosts, httpreq.Placeholder), "the Host header has a placeholder, and none is filled in there; write the host itself, or --targets with a Host line for each")
	return faults
}

// checkWay refuses flags of connections that mean nothing beside each other.
func (o *Options) checkWay() (faults value.Faults) {
	faults.If(o.HTTP2Connections > 1 && !o.HTTP2, "--h2-connections is given without --h2; add that, or give the number of HTTP/1.1 connections with -c")
	faults.If(o.HTTP2Streams > 0 && !o.HTTP2, "--h2-streams is given without --h2; add that")
	faults.If(o.fixedPool && o.HTTP2 && (o.HTTP2Connections > 1 || o.HTTP2Streams > 0), "-c is given beside --h2-connections or --h2-streams; drop -c: --h2-connections C --h2-streams M equals h2load's -c C -m M")
	faults.If(o.DisableKeepAlive && o.HTTP2 && (o.HTTP2Connections > 1 || o.HTTP2Streams > 0), "--disable-keepalive is given beside --h2-connections or --h2-streams; drop one: with it each request has a connection of its own, and -c says how many at once")
	faults.If(o.TLS.KeyLog == stdin, "--tls-keylog is -; name a file, which only you can read")
	return faults
}

// isNumber reports whether s has only digits.
func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// StdinReaders names the flags that read standard input: before the runs, and in each.
func (o *Options) StdinReaders() (before, during []string) {
	if o.BodyFile == stdin {
		before = append(before, "-D")
	}
	if o.Targets == stdin {
		during = append(during, "--targets")
	}
	return before, during
}

// checkClient holds what was asked for against what the clients can do.
func (o *Options) checkClient() (faults value.Faults) {
	why := o.needsNet()
	if faults = o.checkStream(why); len(faults) > 0 {
		return faults
	}
	faults.If(why != "" && o.Client == clientOwn, "--client own has no %s; leave --client out, or drop that flag", why)
	if o.ContrastFor > 0 {
		faults.Add(reach.Bypassed("--contrast"))
	}
	why = o.beyondHey()
	faults.If(why != "" && o.ContrastFor > 0, "--contrast runs hey's requester, which has no %s; drop one of the two", why)
	return faults
}

// client is the client that is used.
func (o *Options) client() string {
	switch {
	case o.Client != clientAuto:
		return o.Client
	case o.needsNet() != "":
		return clientNet
	}
	return clientOwn
}

// Shape fills in what the user left open: 200 requests over 50 connections in a
// closed loop, as hey has it, or 10 s at a given rate.
func (o *Options) Shape(e *engine.Options) {
	o.shapeRounds(e)
	o.seed, o.conns, o.closed = e.Seed, heyConnections, e.Closed()
	if e.Connections > 0 {
		o.conns = e.Connections
	}
	e.End()
	if o.Scenario != "" {
		o.shapeUsers(e)
	}
	o.part, o.parts = e.Shard.Place()
	o.ShapeWay(e, heyConnections, o.Scenario != "")
}

// ShapeWay fills in how many connections there are: of a closed loop, as many as given or these. users: each user has a
// connection of its own.
func (o *Options) ShapeWay(e *engine.Options, closed int, users bool) {
	o.fixedPool, o.loops = e.Connections > 0, e.CanLoop()
	switch {
	case o.HTTP2 && o.HTTP2Streams > 0:
		if n := o.HTTP2Connections * o.HTTP2Streams; n < e.MaxInFlight || e.MaxInFlight == engine.DefaultInFlight {
			e.MaxInFlight = n
		}
	case e.Closed() && e.Connections == 0 && !users:
		e.Connections = closed
	}
	if o.streams = (e.InFlight() + o.HTTP2Connections - 1) / max(1, o.HTTP2Connections); users {
		o.streams = 1
	}
	e.Drain.SetFallback(o.Timeout)
}

// Identify names the next run.
func (o *Options) Identify(run string) {
	o.traces.Begin(run)
	o.run.Begin(run)
}

// Secrets implements takt.Secretive: credentials as they are given and as they go
// over the wire, which a server may echo.
func (o *Options) Secrets() []string {
	secrets := append(httpreq.SecretsOf(o.Credentials.Line), o.Proxy.Secrets()...)
	secrets = append(secrets, httpreq.SecretsIn(o.url)...)
	if o.list != nil {
		secrets = append(secrets, slices.Sorted(maps.Keys(o.list.secrets))...)
	}
	if s, ok := o.requests.(*scenario); ok {
		for _, at := range s.Steps {
			secrets = append(secrets, httpreq.SecretsIn(at.Text.URL)...)
		}
	}
	return secrets
}

// Variables are the settings that shape the load or the target.
func (o *Options) Variables() map[string]any {
	v := map[string]any{
		"headers": o.Header.FieldNames(), "user_agent": o.UserAgent, "client": o.client(),
		"compression": !o.DisableCompression, "connect_timeout_s": o.ConnectTimeout.Seconds(), "fail_on": o.FailOn.String(),
	}
	o.DescribeWay(v)
	o.requests.Describe(v)
	scheme, _, _ := strings.Cut(o.Credentials.Line, " ")
	for name, value := range map[string]string{
		"accept": o.Accept, "host_header": o.Host, "auth": strings.ToLower(scheme), "expect_body": o.ExpectBody.String(),
	} {
		if value != "" {
			v[name] = value
		}
	}
	if len(o.body) > 0 {
		sum := sha256.Sum256(o.body) // as given: placeholders are not filled in
		v["content_type"], v["body_sha256"] = o.ContentType, hex.EncodeToString(sum[:])
	}
	if o.Redirects > 0 {
		v["redirects"] = o.Redirects
	}
	if o.Stream {
		v["stream"] = true
	}
	return v
}

func (o *Options) protocol() string {
	u, _ := o.home()
	switch {
	case !o.HTTP2:
		return "http/1.1"
	case u == nil:
		return "http/2" // targets that are yet to be read say whether with TLS
	case u.Scheme == "http":
		return "h2c"
	}
	return "h2"
}

// Open makes the driver for up to conns connections.
func (o *Options) Open(_ context.Context, conns int) (*takt.Driver, error) {
	asked := "-c"
	if o.HTTP2 {
		conns, asked = o.HTTP2Connections, "--h2-connections"
	}
	if limit, used := proc.OpenFiles(); limit > 0 && uint64(conns)+used > limit {
		return nil, value.Faultf("too many open files: the limit is %d, and %d connections are asked for; run 'ulimit -n %d', or ask for fewer with %s", limit, conns, 2*uint64(conns)+64, asked)
	}
	if s, ok := o.requests.(*scenario); ok {
		return s.open(o.inFlight, o.warmup)
	}
	if err := o.TLS.Open(); err != nil {
		return nil, err
	}
	if o.client() == clientNet {
		return o.openNet(), nil
	}
	return o.openOwn()
}
