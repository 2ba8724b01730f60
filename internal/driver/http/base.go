package http

import (
	"net/http"
	"net/url"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/pkg/takt"
)

// Prepare checks the options of connections for a protocol on top of HTTP, which makes
// its requests by Message or Render and sends them by LoopTo. It reports every fault at once.
// u is where they go; nil: to several servers.
func (o *Options) Prepare(u *url.URL) []error {
	o.url = u
	faults := o.checkWay()
	faults.Add(o.Credentials.Read(), o.checkBounds(), o.checkRoute(), o.TLS.Read())
	return faults
}

// Lacks names what takt's own client does not have of what the flags of connections ask for on the way that Prepare
// knows; "": it has all. users: each user has a connection of its own.
func (o *Options) Lacks(users bool) string {
	if o.HTTP2 && users {
		return o.lacks(byH2)
	}
	return o.needsNet()
}

// OpenTo opens the driver of a run whose connections loop describes, by LoopTo, after it has opened what the flags of
// connections name.
func (o *Options) OpenTo(loop func() *takt.Loop) (*takt.Driver, error) {
	if err := o.TLS.Open(); err != nil {
		return nil, err
	}
	return &takt.Driver{Loop: loop(), Finish: o.FinishTo, Close: o.close}, nil
}

// NewMux is a connection of a run over HTTP/2, which MultiplexTo opens.
func (o *Options) NewMux(requests http2.Requests, opt http1.Options) *http2.Mux {
	return o.newMux(requests, opt)
}

// Transport makes requests beside those of a run, on the same way. It keeps connections until they are closed.
func (o *Options) Transport() *http.Transport { return (&netClient{o: o}).newTransport() }

// ReadBody is the body that the flags name.
func (o *Options) ReadBody() ([]byte, error) {
	err := o.readBody()
	return o.body, err
}

// Templates are what the placeholders of a run have in common.
func (o *Options) Templates() *payload.Env {
	return &payload.Env{Seed: o.seed, Traces: &o.traces, Run: &o.run, Ends: true}
}

// DescribeWay adds the flags of connections that shape the load to Report.Variables.
func (o *Options) DescribeWay(v map[string]any) {
	v["protocol"], v["keepalive"], v["timeout_s"] = o.protocol(), !o.DisableKeepAlive, o.Timeout.Seconds()
	for name, text := range map[string]string{
		"proxy": o.Proxy.host(), "unix_socket": o.UnixSocket, "connect_to": o.ConnectTo.String(),
	} {
		if text != "" {
			v[name] = text
		}
	}
	if o.HTTP2 && o.Scenario == "" {
		v["h2_connections"] = o.HTTP2Connections
		if o.HTTP2Streams > 0 {
			v["h2_streams"] = o.HTTP2Streams
		}
	}
	o.TLS.Describe(v)
}

// LoopTo describes connections to the host of u, each with a codec.
func (o *Options) LoopTo(u *url.URL, codec func(conn int) takt.Codec) *takt.Loop {
	l := &takt.Loop{ConnectTimeout: o.ConnectTimeout, Timeout: o.Timeout, Codec: codec}
	network, list := o.route(httpreq.HostPort(u))
	l.Network, l.Addr, l.Others = network, list[0], list[1:]
	if o.Proxy.url != nil {
		l.Addr, l.Explain, l.Tunnel = o.Proxy.url.Host, o.Proxy.unreached, o.Proxy.leadTo(u)
	}
	if u.Scheme == "https" {
		l.TLS = o.TLS.Config.Clone()
		l.TLS.ServerName, l.TLS.NextProtos = httpreq.WithoutZone(u.Hostname()), []string{"http/1.1"}
	}
	return l
}

// Message is a request to u of what the flags say and the header own, which goes before that of the flags.
func (o *Options) Message(method string, u *url.URL, own []http1.Field, body []byte) *http1.Request {
	return &o.newMessage(method, u, u.RequestURI(), own, body).Request
}

// Render is Message as bytes.
func (o *Options) Render(method string, u *url.URL, own []http1.Field, body []byte) (*http1.Rendered, error) {
	return o.Message(method, u, own, body).Render()
}
