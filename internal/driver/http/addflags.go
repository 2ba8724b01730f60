package http

import (
	"flag"

	"github.com/taktload/takt/pkg/schedule"
)

// flagSet declares flags with a one-letter form: its usage "= --name" marks it.
type flagSet struct{ *flag.FlagSet }

func (fs flagSet) str(p *string, long, short, usage string) {
	fs.StringVar(p, long, *p, usage)
	if short != "" {
		fs.StringVar(p, short, *p, "= --"+long)
	}
}

func (fs flagSet) value(v flag.Value, long, short, usage string) {
	fs.Var(v, long, usage)
	if short != "" {
		fs.Var(v, short, "= --"+long)
	}
}

// AddFlags declares the flags on fs.
func (o *Options) AddFlags(fs *flag.FlagSet) {
	o.addRequestFlags(flagSet{fs})
	o.addConnectionFlags(flagSet{fs})
	o.addAnswerFlags(flagSet{fs})
}

// AddRecordedFlags declares those flags on fs that make sense where a Recording says
// what is asked for.
func (o *Options) AddRecordedFlags(fs *flag.FlagSet) {
	f := flagSet{fs}
	o.addHeaderFlags(f)
	o.addWayFlags(f)
	o.addFailFlag(f)
}

func (o *Options) addRequestFlags(fs flagSet) {
	fs.str(&o.Method, "method", "m", "HTTP `METHOD`")
	o.addHeaderFlags(fs)
	fs.str(&o.Body, "body", "d", "request `BODY`; placeholders: {{.Seq}} {{uuid}} {{randInt 1 100}} {{randString 8}} {{file \"ids.txt\"}} {{now}}")
	fs.str(&o.BodyFile, "body-file", "D", "request body from `FILE`, - for stdin")
	fs.BoolVar(&o.BodyTemplate, "body-template", false, "fill in placeholders in the body of -D too")
	fs.str(&o.Targets, "targets", "", "requests from `FILE` in turn, - for stdin; vegeta's http and json formats; the URL is for targets without one")
}

func (o *Options) addHeaderFlags(fs flagSet) {
	fs.value(&o.Header, "header", "H", "`NAME: VALUE` of a header; repeatable; placeholders as in the body")
	fs.str(&o.Accept, "accept", "A", "Accept `HEADER`")
	fs.str(&o.UserAgent, "user-agent", "U", "User-Agent `HEADER`")
	fs.str(&o.ContentType, "content-type", "T", "Content-Type `HEADER` of a request with a body")
	fs.value(&o.Credentials.Basic, "auth", "a", "basic authentication, `USER:PASSWORD`; better from TAKT_AUTH or --auth-file")
	fs.str(&o.Credentials.BasicFile, "auth-file", "", "basic authentication, USER:PASSWORD in `FILE`")
	fs.value(&o.Credentials.Bearer, "bearer", "", "bearer authentication with `TOKEN`; better from TAKT_BEARER or --bearer-file")
	fs.str(&o.Credentials.BearerFile, "bearer-file", "", "bearer authentication with the token in `FILE`")
	fs.str(&o.Host, "host", "", "Host `HEADER` instead of the URL's")
}

func (o *Options) addConnectionFlags(fs flagSet) {
	o.addWayFlags(fs)
	fs.IntVar(&o.Redirects, "redirects", 0, "follow up to `N` redirects within an operation; 0 counts a redirect as the answer")
	fs.BoolVar(&o.DisableRedirects, "disable-redirects", false, "accepted for hey's sake: redirects are followed with --redirects only")
}

func (o *Options) addWayFlags(fs flagSet) {
	fs.value((*schedule.DurationValue)(&o.Timeout), "timeout", "t", "`TIME` that a request may take; a bare number means seconds")
	fs.value((*schedule.DurationValue)(&o.ConnectTimeout), "connect-timeout", "", "`TIME` that a connection may take, with its TLS handshake")
	fs.BoolVar(&o.DisableCompression, "disable-compression", false, "do not send Accept-Encoding: gzip")
	fs.BoolVar(&o.DisableKeepAlive, "disable-keepalive", false, "a new connection for every request")
	fs.BoolVar(&o.HTTP2, "h2", false, "HTTP/2; over an http URL without TLS (h2c, prior knowledge)")
	fs.IntVar(&o.HTTP2Connections, "h2-connections", o.HTTP2Connections, "spread HTTP/2 over `N` connections")
	fs.value(&o.Proxy, "proxy", "x", "through an HTTP proxy, `HOST:PORT` or URL")
	fs.str(&o.UnixSocket, "unix-socket", "", "connect to the socket `PATH` instead of the URL's host")
	fs.value(&o.ConnectTo, "connect-to", "", "`HOST1:PORT1:HOST2:PORT2`: connect to the second for the first, as curl does; repeatable")
	fs.BoolVar(&o.Insecure, "insecure", false, "do not verify the server's certificate")
	fs.str(&o.CACert, "cacert", "", "verify the server's certificate with the authorities in this PEM `FILE`")
	fs.str(&o.Cert, "cert", "", "client certificate, PEM `FILE`")
	fs.str(&o.Key, "key", "", "key of the client certificate, PEM `FILE` (default: the file of --cert)")
	fs.str(&o.Client, "client", "", "`auto|own|net`: takt's codec, or Go's net/http")
}

func (o *Options) addFailFlag(fs flagSet) {
	fs.Var(&o.FailOn, "fail-on", "`STATUS` codes and classes that count as failed, such as 404,5xx; none for no status")
}

func (o *Options) addAnswerFlags(fs flagSet) {
	o.addFailFlag(fs)
	fs.value(&o.ExpectBody, "expect-body", "", "answers whose body does not match the regular `EXPRESSION` count as failed")
	fs.value((*schedule.DurationValue)(&o.ContrastFor), "contrast", "", "after the run, load for `TIME` with hey's closed loop and show both results side by side")
}
