// Package http is the driver of takt http: one operation is one request. Two
// clients stand behind it: takt's own codec, which allocates nothing, and
// net/http.
package http

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// The names of Options.Client.
const (
	clientAuto = "auto"
	clientOwn  = "own"
	clientNet  = "net"
)

// Options are the flags of takt http beyond those of every load command.
type Options struct {
	Method             string
	Header             Header
	Accept             string
	Body               string
	BodyFile           string
	ContentType        string
	Auth               takt.Secret // user:password
	Host               string
	Timeout            time.Duration // of a request, from sent to done
	ConnectTimeout     time.Duration
	DisableCompression bool
	DisableKeepAlive   bool
	DisableRedirects   bool
	FailOn             FailOn
	Insecure           bool
	CACert             string
	Client             string

	url     *url.URL
	request http1.Request
}

// New are the options with their defaults.
func New() *Options {
	return &Options{
		Method: "GET", ContentType: "text/html", Timeout: 20 * time.Second,
		ConnectTimeout: 5 * time.Second, FailOn: DefaultFailOn(), Client: clientAuto,
	}
}

// AddFlags declares the flags on fs.
func (o *Options) AddFlags(fs *flag.FlagSet) {
	both := func(long, short string, declare func(name, usage string), usage string) {
		declare(long, usage)
		declare(short, "= --"+long)
	}
	str := func(p *string) func(name, usage string) {
		return func(name, usage string) { fs.StringVar(p, name, *p, usage) }
	}
	both("method", "m", str(&o.Method), "HTTP `METHOD`")
	both("header", "H", func(n, u string) { fs.Var(&o.Header, n, u) }, "`NAME: VALUE` of a header; repeatable")
	both("accept", "A", str(&o.Accept), "Accept `HEADER`")
	both("body", "d", str(&o.Body), "request `BODY`")
	both("body-file", "D", str(&o.BodyFile), "request body from `FILE`")
	both("content-type", "T", str(&o.ContentType), "Content-Type `HEADER` of a request with a body")
	both("auth", "a", func(n, u string) { fs.Var(&o.Auth, n, u) }, "basic authentication, `USER:PASSWORD`")
	fs.StringVar(&o.Host, "host", o.Host, "Host `HEADER` instead of the URL's")
	both("timeout", "t", func(n, u string) { fs.Var((*schedule.DurationValue)(&o.Timeout), n, u) }, "`TIME` that a request may take; a bare number means seconds")
	fs.Var((*schedule.DurationValue)(&o.ConnectTimeout), "connect-timeout", "`TIME` that a connection may take, with its TLS handshake")
	fs.BoolVar(&o.DisableCompression, "disable-compression", false, "do not send Accept-Encoding: gzip")
	fs.BoolVar(&o.DisableKeepAlive, "disable-keepalive", false, "a new connection for every request")
	fs.BoolVar(&o.DisableRedirects, "disable-redirects", false, "accepted for hey's sake: redirects are never followed within an operation")
	fs.Var(&o.FailOn, "fail-on", "`STATUS` codes and classes that count as failed, such as 404,5xx; none for no status")
	fs.BoolVar(&o.Insecure, "insecure", false, "do not verify the server's certificate")
	fs.StringVar(&o.CACert, "cacert", "", "verify the server's certificate with the authorities in this PEM `FILE`")
	fs.StringVar(&o.Client, "client", o.Client, "`auto|own|net`: takt's codec, or Go's net/http")
}

// Validate reports every fault at once and prepares the request.
func (o *Options) Validate(args []string) []error {
	var faults []error
	add := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	add(o.parseURL(args))
	add(o.checkBody())
	if o.Client != clientAuto && o.Client != clientOwn && o.Client != clientNet {
		add(fmt.Errorf("unknown --client %q; use auto, own or net", o.Client))
	}
	if o.Timeout <= 0 || o.ConnectTimeout <= 0 {
		add(errors.New("--timeout and --connect-timeout must be above 0; a request without a bound can hang for ever"))
	}
	if _, err := o.tlsConfig(); err != nil {
		add(err)
	}
	if len(faults) == 0 {
		add(o.build())
	}
	return faults
}

func (o *Options) parseURL(args []string) error {
	switch len(args) {
	case 1:
	case 0:
		return errors.New("no url is given; the last argument names the target, such as http://127.0.0.1:8080/")
	default:
		return fmt.Errorf("%d arguments where one url is expected: %q; flags with a value are written --name value", len(args), args)
	}
	u, err := url.Parse(args[0])
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("url %q has no http:// or https:// scheme and host; did you mean http://%s?", args[0], strings.TrimPrefix(args[0], "//"))
	}
	o.url = u
	return nil
}

func (o *Options) checkBody() error {
	if o.BodyFile == "" {
		return nil
	}
	if o.Body != "" {
		return errors.New("both -d and -D are given; keep one, the body is either the argument or the file")
	}
	b, err := os.ReadFile(o.BodyFile)
	if err != nil {
		return fmt.Errorf("cannot read the body: %w; check -D", err)
	}
	o.request.Body = b
	return nil
}

// Shape fills in what the user left open: 200 requests over 50 connections in a
// closed loop, as hey has it, or 10 s at a given rate.
func (o *Options) Shape(e *engine.Options) {
	if e.Requests == 0 && e.Duration == 0 && e.Stages == "" {
		if e.Closed() {
			e.Requests = 200
		} else {
			e.Duration = 10 * time.Second
		}
	}
	if e.Closed() && e.Connections == 0 {
		e.Connections = 50
	}
	e.Drain.SetFallback(o.Timeout)
}

// Secrets implements takt.Secretive: the credentials of -a or the URL, as they
// are given and as they go over the wire, which a server may echo.
func (o *Options) Secrets() []string {
	var secrets []string
	add := func(s string) {
		if s != "" {
			secrets = append(secrets, s)
		}
	}
	if o.url != nil {
		add(strings.TrimPrefix(o.basicAuth(), "Basic "))
		if o.url.User != nil {
			p, _ := o.url.User.Password()
			add(p)
		}
	}
	_, p, _ := strings.Cut(string(o.Auth), ":")
	add(p)
	return secrets
}

// Variables are the settings that shape the load or the target.
func (o *Options) Variables() map[string]any {
	return map[string]any{
		"method": o.request.Method, "scheme": o.url.Scheme, "host": o.url.Host, "path": o.request.Target,
		"body_bytes": len(o.request.Body), "headers": o.Header.names(), "client": o.client(),
		"keepalive": !o.DisableKeepAlive, "compression": !o.DisableCompression,
		"timeout_s": o.Timeout.Seconds(), "fail_on": o.FailOn.String(),
	}
}

// client is the client that is used.
func (o *Options) client() string {
	if o.Client == clientAuto {
		return clientOwn // everything that it cannot do is asked for by another flag
	}
	return o.Client
}

// Open makes the driver for up to conns connections.
func (o *Options) Open(_ context.Context, conns int) (*takt.Driver, error) {
	if limit, used := proc.OpenFiles(); limit > 0 && uint64(conns)+used > limit {
		return nil, fmt.Errorf("too many open files: the limit is %d, and %d connections are asked for; run 'ulimit -n %d', or ask for fewer with -c", limit, conns, 2*uint64(conns)+64)
	}
	if o.client() == clientNet {
		return o.openNet()
	}
	return o.openOwn()
}

// addr is host:port of the target.
func (o *Options) addr() string {
	if o.url.Port() != "" {
		return o.url.Host
	}
	return net.JoinHostPort(o.url.Hostname(), map[string]string{"http": "80", "https": "443"}[o.url.Scheme])
}
