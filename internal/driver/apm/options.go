// Package apm is the driver of takt apm: load for apm-server. One operation is one
// intake request, whose body was made before the run.
package apm

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// defaultURL is where apm-server listens by default.
const defaultURL = "http://localhost:8200"

// The names of Options.Intake.
const (
	intakeV2 = "v2"
	intakeV1 = "v1"
)

// hey-apm's defaults.
const (
	defaultTransactions = 6
	defaultSpans        = 7
	defaultErrors       = 3
	defaultFrames       = 20
	defaultWorkers      = 1
	defaultRun          = 10 * time.Second
)

// Options are the flags of takt apm beyond those of every load command.
type Options struct {
	Servers            []string
	Profile            string // "": of the numbers below
	Intake             string
	Transactions       Number // in a request; unset: by Events, else the default
	Errors             Number
	Spans              Number // of a transaction
	Frames             Number // of a span or an error
	Events             Number // in a request, whatever Spans makes of them
	Endpoint           string
	Method             string
	Stream             bool
	Pause              time.Duration // between the bodies of a streamed request
	DisableCompression bool
	Describe, Dump     bool

	auth auth
	conn http.Options // of connections and headers
	idle time.Duration

	urls    []*url.URL
	mix     profile
	method  string
	seed    uint64
	warmup  time.Duration
	until   time.Duration // the end of the schedule; 0: not known
	workers int           // 0: as many as it takes
}

// New are the options with their defaults.
func New() *Options {
	o := &Options{
		Intake: intakeV2, Method: "POST", Transactions: unset, Errors: unset, Spans: unset, Frames: unset, Events: unset,
		Pause: 100 * time.Millisecond, conn: *http.New(),
	}
	o.conn.Timeout = 10 * time.Second
	o.conn.DisableCompression = true   // of answers: they are read
	o.conn.Accept = "application/json" // else apm-server 6 says nothing of the events that it accepted beside an error
	return o
}

func (o *Options) v1() bool { return o.Intake == intakeV1 }

// Shape fills in what the user left open: the rate and workers of a profile, else
// hey-apm's closed loop of one worker, for 10 s.
func (o *Options) Shape(e *engine.Options) {
	o.seed, o.warmup = e.Seed, e.Warmup
	named, _ := profileOf(o.Profile) // Validate has the error
	if rate := named.ratePerS(); rate > 0 && !e.Rate.Given() && !e.Stages.Given() {
		e.Rate = engine.PerSecond(rate)
	}
	if e.Closed() && e.Connections == 0 {
		e.Connections = cmp.Or(named.workers(), defaultWorkers)
	}
	if e.Requests == 0 && e.Duration == 0 && !e.Stages.Given() {
		e.Duration = defaultRun
	}
	o.workers, o.until = e.Connections, 0
	if e.Duration > 0 {
		o.until = e.Warmup + e.Duration
	}
	o.shapeDrain(e)
}

// shapeDrain gives a streamed request the time that its answer may take, too.
func (o *Options) shapeDrain(e *engine.Options) {
	drain := o.conn.Timeout
	if o.Stream {
		drain *= 2
	}
	e.Drain.SetFallback(drain)
}

// Validate reports every fault at once. args are URLs.
func (o *Options) Validate(args []string) []error {
	o.method = strings.ToUpper(o.Method)
	faults := o.readURLs(args)
	o.readMix(&faults)
	faults.Add(o.auth.read())
	faults.If(o.auth.header() != "" && o.conn.Header.Has("Authorization"), "both an Authorization header and --secret or --api-key are given; keep one")
	faults.If(o.Endpoint != "" && !strings.HasPrefix(o.Endpoint, "/"), "--endpoint %q is not a path; begin it with /", o.Endpoint)
	faults.If(o.Stream && o.v1(), "--stream is given with --intake v1, whose bodies are one document each; leave one out")
	faults.If(o.Stream && o.Profile != "", "--stream is given with --profile, whose requests are not streamed; say what to stream with --transactions, --spans, --errors and --frames")
	return append(faults, o.conn.Prepare(nil)...)
}

// readURLs takes the servers.
func (o *Options) readURLs(args []string) (faults value.Faults) {
	o.urls = nil
	given := slices.Concat(o.Servers, args)
	if len(given) == 0 {
		given = []string{defaultURL}
	}
	for _, s := range given {
		u, err := httpreq.ParseURL(strings.TrimRight(s, "/"))
		if err == nil && (u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Path, "/intake/") || strings.Contains(u.Path, "/v1/")) {
			err = value.Faultf("url %q is not that of a server alone; give the path of its intake with --endpoint", u.Redacted())
		}
		faults.Add(err)
		o.urls = append(o.urls, u)
	}
	return faults
}

// readMix decides what is sent.
func (o *Options) readMix(faults *value.Faults) {
	faults.If(o.Events != unset && o.Transactions != unset, "both --events and --transactions are given; keep one, events are transactions unless --spans is 0")
	if o.Profile == "" {
		o.mix = o.own()
		faults.If(len(o.mix.parts) == 0, "a request without an event is asked for; give --transactions or --errors above 0")
		return
	}
	faults.If(o.Transactions != unset || o.Errors != unset || o.Spans != unset || o.Frames != unset || o.Events != unset,
		"--profile is given with numbers of events, and has its own; leave one out")
	var err error
	o.mix, err = profileOf(o.Profile)
	faults.Add(err)
}

// own is the mix that the numbers describe. In v1 errors are requests of their own.
func (o *Options) own() profile {
	s := shape{transactions: o.Transactions.or(defaultTransactions), errors: o.Errors.or(defaultErrors), frames: o.Frames.or(defaultFrames)}
	spans := o.Spans.or(defaultSpans)
	if o.Events != unset {
		s.transactions, s.errors = int(o.Events), o.Errors.or(0)
		if spans == 0 {
			s.transactions, s.errors = 0, s.transactions+s.errors
		}
	}
	s.spans, s.errorFrames = []int{spans}, s.frames
	all := []part{{name: "transactions", kind: kindTransactions, shape: s, workers: 1}}
	switch {
	case s.transactions == 0 && s.errors == 0:
		return profile{}
	case s.transactions == 0:
		all = []part{{name: "errors", kind: kindErrors, shape: s, workers: 1}}
	case o.v1() && s.errors > 0:
		alone := s
		alone.transactions, all[0].shape.errors = 0, 0
		all = append(all, part{name: "errors", kind: kindErrors, shape: alone, workers: 1})
	}
	return profile{parts: all}
}

// Secrets implements takt.Secretive.
func (o *Options) Secrets() []string {
	secrets := o.auth.secrets()
	for _, u := range o.urls {
		secrets = append(secrets, httpreq.SecretsIn(u)...)
	}
	return secrets
}

// Variables are the settings that shape the load or the target.
func (o *Options) Variables() map[string]any {
	var hosts []string
	for _, u := range o.urls {
		hosts = append(hosts, u.Hostname())
	}
	slices.Sort(hosts)
	v := map[string]any{
		"apm_host": strings.Join(hosts, ","), "apm_servers": len(hosts), "scheme": o.urls[0].Scheme, "intake": o.Intake, "stream": o.Stream,
		"compression": !o.DisableCompression, "keepalive": !o.conn.DisableKeepAlive, "timeout_s": o.conn.Timeout.Seconds(),
		"headers": o.conn.Header.FieldNames(),
	}
	if o.workers > 0 {
		v["workers"] = o.workers
	}
	if o.Stream {
		v["pause_s"] = o.Pause.Seconds()
	}
	if o.Endpoint != "" {
		v["endpoint"] = o.Endpoint
	}
	if o.method != "POST" {
		v["method"] = o.method
	}
	if scheme, _, _ := strings.Cut(o.auth.header(), " "); scheme != "" {
		v["auth"] = strings.ToLower(scheme)
	}
	if o.conn.TLS.Insecure {
		v["insecure"] = true
	}
	o.describeMix(v)
	return v
}

// describeMix adds what is sent, by the names of hey-apm's reports.
func (o *Options) describeMix(v map[string]any) {
	if o.Profile != "" {
		v["profile"], v["seed"] = o.Profile, o.seed
		return
	}
	s := o.mix.parts[0].shape
	v["spans"], v["frames"], v["seed"] = o.Spans.or(defaultSpans), s.frames, o.seed
	if o.Events != unset {
		v["events"] = int(o.Events)
		if o.Errors > 0 {
			v["errors"] = int(o.Errors)
		}
		return
	}
	v["transactions"], v["errors"] = o.Transactions.or(defaultTransactions), o.Errors.or(defaultErrors)
}

// Open makes the bodies and the driver.
func (o *Options) Open(context.Context, int) (*takt.Driver, error) {
	p, err := o.newPlan()
	if err != nil {
		return nil, err
	}
	d := o.driver(p)
	d.Finish = p.finish
	return d, nil
}
