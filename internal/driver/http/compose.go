package http

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// requests makes the request of each operation, for either client.
type requests interface {
	http1.Requests // for takt's own client
	// Message is the request for net/http. Its reader must not change it.
	Message(op *takt.Op) (*httpreq.Message, error)
	// Describe adds what is sent to Report.Variables.
	Describe(v map[string]any)
}

// newMessage completes a request with what the flags say: own is the header that
// it brings itself, which goes before that of the flags.
func (o *Options) newMessage(method string, u *url.URL, target string, own []http1.Field, body []byte) *httpreq.Message {
	m := &httpreq.Message{URL: u}
	m.Method, m.Target, m.Host, m.Body = method, target, cmp.Or(o.Host, httpreq.WithoutZone(u.Host)), body
	m.Close = o.DisableKeepAlive
	given := httpreq.Header(slices.Clone(own))
	for _, f := range o.Header {
		if !httpreq.Header(own).Has(f.Name) {
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
	if !o.DisableCompression && !o.ExpectBody.Given() && !o.Stream {
		fields = append(fields, http1.Field{Name: "Accept-Encoding", Value: "gzip"})
	}
	if hasBody {
		fields = append(fields, http1.Field{Name: "Content-Type", Value: o.ContentType})
	}
	return fields
}

// authorization is the header of requests to u: what the flags say, else what
// stands in the URL.
func (o *Options) authorization(u *url.URL) string {
	if o.Credentials.Line == "" && u != nil && u.User != nil {
		return httpreq.BasicAuth(u.User)
	}
	return o.Credentials.Line
}
