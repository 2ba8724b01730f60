package http

import (
	"strings"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/users"
	"github.com/taktload/takt/internal/value"
)

// Sessions is what the users of recorded requests remember of answers. The zero value is nothing.
type Sessions struct {
	On       bool // users keep cookies, and the values of Captures
	Captures Captures

	header []valued // header lines of the flags with values from answers
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
	var fixed Header
	for _, f := range o.Header {
		if !strings.Contains(f.Value, placeholder) {
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
	for _, h := range s.header {
		if v, missing := h.text.Fill(nil, seq, mine.Value); missing == "" {
			q.Header = append(q.Header, http1.Field{Name: h.name, Value: string(v)})
		}
	}
	if c := mine.Cookies(nil, string(path), secure); len(c) > 0 {
		q.Header = append(q.Header, http1.Field{Name: "Cookie", Value: string(c)})
	}
}

// remember sets what a codec says of answers. An answer without a value is not a failure: most
// answers of a log have none.
func (c *recordedCodec) remember(opt *http1.Options) {
	o := c.recorded.o
	secure := o.url.Scheme == "https"
	opt.Field = func(name, value []byte) {
		_ = sessionOf(c.user).Field(o.Sessions.Captures, string(c.recorded.target(nil, c.asked.URI)), secure, name, value)
	}
	if !o.Sessions.inBody() {
		return
	}
	opt.Check = func(body []byte) error {
		mine := sessionOf(c.user)
		for i := range o.Sessions.Captures {
			_ = mine.Body(o.Sessions.Captures[i:i+1], body)
		}
		return nil
	}
}
