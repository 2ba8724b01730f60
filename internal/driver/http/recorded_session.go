package http

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/users"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Sessions is what the users of recorded requests remember of answers. The zero value is nothing.
type Sessions struct {
	On       bool // users keep cookies, and the values of Captures
	Captures Captures

	header []valued                   // header lines of the flags with values from answers
	seen   atomic.Pointer[remembered] // a connection that hangs may outlast its run
}

// remembered is what the current run saw of the values.
type remembered struct {
	without atomic.Uint64 // requests without a header line, as its value was not known
	found   []atomic.Bool // by capture
}

// begin forgets what the last run saw.
func (s *Sessions) begin() { s.seen.Store(&remembered{found: make([]atomic.Bool, len(s.Captures))}) }

// mark marks the captures whose values the user has.
func (m *remembered) mark(captures Captures, mine *session.Session) {
	for i := range captures {
		if !m.found[i].Load() && mine.Value(captures[i].Name) != nil {
			m.found[i].Store(true)
		}
	}
}

// describe adds to the report how many requests lacked a value, and which values no answer had.
func (s *Sessions) describe(r *takt.Report) {
	if !s.On || len(s.Captures) == 0 {
		return
	}
	seen := s.seen.Load()
	without := seen.without.Load()
	if u, ok := r.Extra["users"].(map[string]any); ok {
		u["without_value"] = without
	}
	var lost []string
	for i := range s.Captures {
		if name := s.Captures[i].Name; !seen.found[i].Load() && !slices.Contains(lost, name) {
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		text := "no answer had a value for " + strings.Join(lost, ", ")
		if without > 0 {
			text += fmt.Sprintf(": %d requests were sent without a header line of -H", without)
		}
		r.Warn(warn.ValueUnknown, "%s; %s", text, takt.Advice("check --capture"))
	}
}

// valued is a header line with placeholders.
type valued struct {
	name string
	text *payload.Template
}

// Captures is the repeatable flag --capture.
type Captures []session.Capture

// Set implements flag.Value.
func (c *Captures) Set(text string) error {
	one, err := session.ParseCapture(text)
	*c = append(*c, one)
	return err
}

// Repeats implements value.Repeater.
func (c *Captures) Repeats() {}

// String implements flag.Value.
func (c *Captures) String() string {
	var names []string
	for _, one := range *c {
		names = append(names, one.Name)
	}
	return strings.Join(names, ", ")
}

// Type implements flag.Value.
func (c *Captures) Type() string { return "list" }

// Names implements value.Flag.
func (*Captures) Names(string) []value.Name { return nil }

// inBody reports whether any value comes from a body.
func (s *Sessions) inBody() bool {
	for i := range s.Captures {
		if s.Captures[i].InBody() {
			return true
		}
	}
	return false
}

// takeValued moves the header lines with placeholders out of the flags: they are filled in for each
// request.
func (o *Options) takeValued() error {
	s := &o.Sessions
	if !s.On {
		return nil
	}
	o.DisableCompression = o.DisableCompression || s.inBody()
	env := payload.Env{Seed: o.seed}
	for _, c := range s.Captures {
		env.Values = append(env.Values, c.Name)
	}
	var fixed httpreq.Header
	for _, f := range o.Header {
		if !strings.Contains(f.Value, httpreq.Placeholder) {
			fixed = append(fixed, f)
			continue
		}
		t, err := env.Parse("header "+f.Name, f.Value)
		if err != nil {
			return err
		}
		if err := http1.CheckField(http1.Field{Name: f.Name}); err != nil {
			return err
		}
		s.header = append(s.header, valued{f.Name, t})
	}
	o.Header = fixed
	return nil
}

// sessionOf is the session of the user that uses a connection.
func sessionOf(user func() *users.User) *session.Session {
	s, _ := user().Memory.(*session.Session)
	return s
}

// add puts what the user remembers into a request. A header line without its value is left out.
func (s *Sessions) add(q *Asked, seq uint64, path []byte, secure bool, mine *session.Session) {
	left := false
	for _, h := range s.header {
		if v, missing := h.text.Fill(nil, seq, 0, mine.Value, nil); missing == "" {
			q.Header = append(q.Header, http1.Field{Name: h.name, Value: string(v)})
		} else {
			left = true
		}
	}
	if left {
		s.seen.Load().without.Add(1)
	}
	if c := mine.Cookies(nil, session.Place{Path: string(path), Secure: secure}); len(c) > 0 {
		q.Header = append(q.Header, http1.Field{Name: "Cookie", Value: string(c)})
	}
}

// remember sets what a codec says of answers. An answer without a value is not a failure: most
// answers of a log have none.
func (c *recordedCodec) remember(opt *http1.Options) {
	o := c.recorded.o
	secure, seen := o.url.Scheme == "https", o.Sessions.seen.Load()
	opt.Field = func(name, value []byte) {
		mine := sessionOf(c.user)
		_ = mine.Field(o.Sessions.Captures, session.Place{Path: string(c.recorded.target(nil, c.asked.URI)), Secure: secure}, name, value)
		seen.mark(o.Sessions.Captures, mine)
	}
	if !o.Sessions.inBody() {
		return
	}
	opt.Check = func(body http1.Content) error {
		mine := sessionOf(c.user)
		for i := range o.Sessions.Captures {
			_ = mine.Body(o.Sessions.Captures[i:i+1], body.Bytes, body.Why)
		}
		seen.mark(o.Sessions.Captures, mine)
		return nil
	}
}
