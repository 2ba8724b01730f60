package http

import (
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/value"
)

// AddFlags declares the flags on fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupTarget, o.addRequestFlags, "method", "header", "body")
	value.Declare(fs, value.GroupConnections, o.addConnectionFlags, "timeout")
	value.Declare(fs, value.GroupAssertions, o.addAnswerFlags)
	value.Declare(fs, value.GroupMeasurement, o.addContrastFlag)
	value.Declare(fs, value.GroupMeasurement, o.addStreamFlags)
}

// AddRecordedFlags declares those flags on fs that make sense where a Recording says
// what is asked for.
func (o *Options) AddRecordedFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupTarget, o.addHeaderFlags)
	value.Declare(fs, value.GroupConnections, o.addWayFlags, "timeout")
	value.Declare(fs, value.GroupAssertions, o.addFailFlag)
}

func (o *Options) addRequestFlags(fs *pflag.FlagSet) {
	fs.VarP(value.Text(&o.Method), "method", "m", "HTTP `METHOD`")
	o.addHeaderFlags(fs)
	fs.VarP(value.Naming(value.Text(&o.Body), payload.Names), "body", "d", "request `BODY`; placeholders: {{.Seq}} {{uuid}} {{randInt 1 100}} {{randString 8}} {{file \"ids.txt\"}} {{now}}")
	fs.VarP(value.InFile(&o.BodyFile), "body-file", "D", "request body from `FILE`, - for stdin")
	fs.BoolVar(&o.BodyTemplate, "body-template", false, "fill in placeholders in the body of -D too")
	fs.Var(value.InFile(&o.Scenario), "scenario", "steps of each user from `FILE`, in order: targets with @capture, @think and @name lines; without a rate, -c is the number of users")
	fs.Var(value.Plain(&o.Rounds), "rounds", "rounds of --scenario per second, `RATE` such as 75/s, instead of --rate; -n then counts rounds, and without a rate requests")
	fs.Var(value.InFile(&o.Targets), "targets", "requests from `FILE` in turn, - for stdin; vegeta's http and json formats; the URL is for targets without one")
}

func (r *Request) addHeaderFlags(fs *pflag.FlagSet) {
	fs.VarP(&r.Header, "header", "H", "`NAME: VALUE` of a header; repeatable; placeholders as in the body")
	fs.VarP(value.Naming(value.Text(&r.Accept), payload.Names), "accept", "A", "Accept `HEADER`")
	fs.VarP(value.Naming(value.Text(&r.UserAgent), payload.Names), "user-agent", "U", "User-Agent `HEADER`")
	fs.VarP(value.Naming(value.Text(&r.ContentType), payload.Names), "content-type", "T", "Content-Type `HEADER` of a request with a body")
	fs.VarP(value.Secret(&r.Credentials.Basic), "auth", "a", "basic authentication, `USER:PASSWORD`; better from TAKT_AUTH or --auth-file")
	fs.Var(value.InFile(&r.Credentials.BasicFile), "auth-file", "basic authentication, USER:PASSWORD in `FILE`")
	fs.Var(value.Secret(&r.Credentials.Bearer), "bearer", "bearer authentication with `TOKEN`; better from TAKT_BEARER or --bearer-file")
	fs.Var(value.InFile(&r.Credentials.BearerFile), "bearer-file", "bearer authentication with the token in `FILE`")
	fs.Var(value.Text(&r.Host), "host", "Host `HEADER` instead of the URL's")
}

func (o *Options) addConnectionFlags(fs *pflag.FlagSet) {
	o.addWayFlags(fs)
	fs.IntVar(&o.Redirects, "redirects", 0, "follow up to `N` redirects within an operation; 0 counts a redirect as the answer")
	fs.BoolVar(&o.DisableRedirects, "disable-redirects", false, "has no effect: takt follows redirects only with --redirects; a flag of hey")
}

func (w *Way) addWayFlags(fs *pflag.FlagSet) {
	w.AddWayFlags(fs)
	fs.BoolVar(&w.DisableCompression, "disable-compression", false, "do not send Accept-Encoding: gzip")
	fs.Var(value.Choice(&w.Client, clientAuto, clientOwn, clientNet), "client", "`auto|own|net`: takt's codec, or Go's net/http")
}

// AddWayFlags declares the flags of connections that each protocol on top of HTTP has.
func (w *Way) AddWayFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&w.HTTP2, "h2", false, "HTTP/2; over an http URL without TLS (h2c, prior knowledge)")
	w.AddWayFlagsH2(fs)
}

// AddWayFlagsH2 declares those of a protocol that is always over HTTP/2.
func (w *Way) AddWayFlagsH2(fs *pflag.FlagSet) {
	fs.VarP(value.Duration(&w.Timeout), "timeout", "t", "time limit for a request, `TIME`; a bare number means seconds")
	fs.Var(value.Duration(&w.ConnectTimeout), "connect-timeout", "time limit for connecting, with the TLS handshake, `TIME`")
	fs.BoolVar(&w.DisableKeepAlive, "disable-keepalive", false, "a new connection for every request")
	fs.IntVar(&w.HTTP2Connections, "h2-connections", w.HTTP2Connections, "spread HTTP/2 over `N` connections")
	fs.IntVar(&w.HTTP2Streams, "h2-streams", w.HTTP2Streams, "`M` requests at once on each connection of HTTP/2, as far as the server allows")
	fs.VarP(&w.Proxy, "proxy", "x", "through an HTTP proxy, `HOST:PORT` or URL")
	fs.Var(value.OwnedPath(&w.UnixSocket, "sockets are the server's; give a URL"), "unix-socket", "connect to the socket `PATH` instead of the URL's host")
	fs.Var(&w.ConnectTo, "connect-to", "`HOST1:PORT1:HOST2:PORT2`: connect to HOST2:PORT2 instead of HOST1:PORT1, as curl does; repeatable")
	w.TLS.AddFlags(fs)
}

func (a *Answers) addFailFlag(fs *pflag.FlagSet) {
	fs.Var(value.Plain(&a.FailOn), "fail-on", "`STATUS` codes and classes that count as failed, such as 404,5xx; none for no status")
}

func (a *Answers) addAnswerFlags(fs *pflag.FlagSet) {
	a.addFailFlag(fs)
	fs.Var(value.Plain(&a.ExpectBody), "expect-body", "answers whose body does not match the regular `EXPRESSION` count as failed")
}

func (a *Answers) addStreamFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&a.Stream, "stream", false, "measure the parts of answers that stream: server-sent events, lines of NDJSON, or else chunks; the report has the first part and the gaps")
	fs.Var(value.Size(&a.StreamMost), "stream-max", "largest `SIZE` of a streamed answer")
}

func (o *Options) addContrastFlag(fs *pflag.FlagSet) {
	fs.Var(value.Duration(&o.ContrastFor), "contrast", "after the run, load for `TIME` with hey's closed loop, and show both results side by side")
}
