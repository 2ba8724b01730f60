// Package httpreq is a request as a person writes it: its URL and what a host means, header, credentials and body, what
// of it is secret, and which answers count as failed. It knows no flags, connections or schedules.
package httpreq

import (
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
	"net/url" // message is a request and where it goes.
	// fixed sends one message every time.
	"slices"
	"strings"
)

type Message struct {
	http1.Request
	URL *url.URL
}

type Fixed struct {
	Sends *Message
	*http1.Rendered
}

func NewFixed(m *Message) (*Fixed, error) {
	b, err := m.Render()
	if err != nil {
		return nil, err
	}
	m.Body = b.Bytes[len(b.Bytes)-len(m.Body):] // the same: to hold it twice is once too often
	return &Fixed{m, b}, nil
}

func (f *Fixed) Message(*takt.Op) (*Message, error) { return f.Sends, nil }

func (f *Fixed) Describe(v map[string]any) {
	v["method"], v["scheme"], v["host"] = f.Sends.Method, f.Sends.URL.Scheme, f.Sends.URL.Host
	v["path"], v["body_bytes"] = f.Sends.Target, len(f.Sends.Body)
}

// Check reports what is wrong with what the flags say.
func (m *Message) Check() error {
	_, err := m.AppendTo(nil)
	return err
}

// Lines renders the header.
func (m *Message) Lines() (b []byte) {
	for _, f := range m.Header {
		b = append(b, f.Name+": "+f.Value+"\r\n"...)
	}
	if m.Close && !m.SaysClose() {
		b = append(b, "Connection: close\r\n"...)
	}
	return b
}

// Placeholder begins one, in a URL, a header or a body.
const Placeholder = "{{"

// WithoutCredentials is a header without those that follow the first n lines, the step's own: they are of the flags or the
// user of a URL, and for another server.
func WithoutCredentials(header []http1.Field, n int) []http1.Field {
	return append(header[:n:n], slices.DeleteFunc(slices.Clone(header[n:]), func(f http1.Field) bool {
		return strings.EqualFold(f.Name, "Authorization") || strings.EqualFold(f.Name, "Cookie")
	})...)
}
