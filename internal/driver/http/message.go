package http

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// requests makes the request of each operation, for either client.
type requests interface {
	http1.Requests // for takt's own client
	// message is the request for net/http. Its reader must not change it.
	message(op *takt.Op) (*message, error)
	// describe adds what is sent to Report.Variables.
	describe(v map[string]any)
}

// message is a request and where it goes.
type message struct {
	http1.Request
	url *url.URL
}

// newMessage completes a request with what the flags say: own is the header that
// it brings itself, which goes before that of the flags.
func (o *Options) newMessage(method string, u *url.URL, target string, own []http1.Field, body []byte) *message {
	m := &message{url: u}
	m.Method, m.Target, m.Host, m.Body = method, target, cmp.Or(o.Host, withoutZone(u.Host)), body
	m.Close = o.DisableKeepAlive
	given := Header(slices.Clone(own))
	for _, f := range o.Header {
		if !Header(own).Has(f.Name) {
			given = append(given, f)
		}
	}
	for _, f := range given {
		if strings.EqualFold(f.Name, "host") {
			m.Host = f.Value
			continue
		}
		m.Header = append(m.Header, f)
	}
	for _, f := range o.defaults(u, len(body) > 0) {
		if f.Value != "" && !given.Has(f.Name) {
			m.Header = append(m.Header, f)
		}
	}
	return m
}

// defaults are the headers that stand in a request unless it or -H gives them.
func (o *Options) defaults(u *url.URL, hasBody bool) []http1.Field {
	fields := []http1.Field{
		{Name: "User-Agent", Value: o.UserAgent},
		{Name: "Accept", Value: o.Accept},
		{Name: "Authorization", Value: o.authorization(u)},
	}
	// What is compressed cannot be held against an expression, or be cut into events.
	if !o.DisableCompression && o.ExpectBody.re == nil && !o.Stream {
		fields = append(fields, http1.Field{Name: "Accept-Encoding", Value: "gzip"})
	}
	if hasBody {
		fields = append(fields, http1.Field{Name: "Content-Type", Value: o.ContentType})
	}
	return fields
}

// fixed sends one message every time.
type fixed struct {
	msg *message
	*http1.Rendered
}

func newFixed(m *message) (*fixed, error) {
	b, err := m.Render()
	if err != nil {
		return nil, err
	}
	m.Body = b.Bytes[len(b.Bytes)-len(m.Body):] // the same: to hold it twice is once too often
	return &fixed{m, b}, nil
}

func (f *fixed) message(*takt.Op) (*message, error) { return f.msg, nil }

func (f *fixed) describe(v map[string]any) {
	v["method"], v["scheme"], v["host"] = f.msg.Method, f.msg.url.Scheme, f.msg.url.Host
	v["path"], v["body_bytes"] = f.msg.Target, len(f.msg.Body)
}
