package httpreq

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Header is a repeatable flag of header lines.
type Header []http1.Field

// Set implements flag.Value.
func (h *Header) Set(s string) error {
	name, value, ok := strings.Cut(s, ":")
	if !ok || strings.TrimSpace(name) == "" {
		return errors.New("not a header; write it as 'Name: value'") // the text may be a secret
	}
	*h = append(*h, http1.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	return nil
}

// String implements flag.Value.
// Repeats implements value.Repeater.
func (h *Header) Repeats() {}

func (h *Header) String() string { return strings.Join(h.FieldNames(), ", ") }

// Type implements value.Flag.
func (*Header) Type() string { return "list" }

// Names implements value.Flag.
func (*Header) Names(text string) []value.Name { return payload.Names(text) }

// Text is the values of the named header, or of all for "", for a look at what they hold.
func (h *Header) Text(name string) string {
	var b strings.Builder
	for _, f := range *h {
		if name == "" || strings.EqualFold(f.Name, name) {
			b.WriteString(f.Value + "\n")
		}
	}
	return b.String()
}

// FieldNames are those of the headers, in their order.
func (h *Header) FieldNames() []string {
	names := []string{}
	for _, f := range *h {
		names = append(names, f.Name)
	}
	return names
}

// Secrets implements takt.Secretive: the values of headers that carry credentials,
// and what follows their scheme.
func (h *Header) Secrets() []string {
	var secrets []string
	for _, f := range *h {
		if IsSecret(f.Name) {
			_, credentials, _ := strings.Cut(f.Value, " ")
			secrets = append(secrets, f.Value, strings.TrimSpace(credentials))
		}
	}
	return present(secrets...)
}

// IsSecret reports whether a header carries credentials.
func IsSecret(name string) bool {
	return slices.Contains([]string{"authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"}, strings.ToLower(name))
}

// Redact is a header line as it may be shown: no value, for any may be a secret.
func (h *Header) Redact(line string) string {
	name, _, ok := strings.Cut(line, ":")
	if !ok {
		return takt.Redacted
	}
	return name + ": " + takt.Redacted
}

// Has reports whether there is a header of that name.
func (h Header) Has(name string) bool {
	return slices.ContainsFunc(h, func(f http1.Field) bool { return strings.EqualFold(f.Name, name) })
}

// FailOn says which status codes count as failed.
type FailOn struct {
	text  string
	class [600]string // the failure class of a status, "" if it is none
}

// DefaultFailOn counts 4xx and 5xx as failed.
func DefaultFailOn() FailOn {
	var f FailOn
	_ = f.Set("4xx,5xx") // it is well-formed
	return f
}

// Set implements flag.Value.
func (f *FailOn) Set(s string) error {
	*f = FailOn{text: s}
	if s == "none" {
		return nil
	}
	for _, part := range strings.Split(s, ",") {
		if err := f.add(strings.TrimSpace(part)); err != nil {
			return err
		}
	}
	return nil
}

func (f *FailOn) add(part string) error {
	if len(part) == 3 && strings.HasSuffix(part, "xx") && part[0] >= '1' && part[0] <= '5' {
		hundred := 100 * int(part[0]-'0')
		for code := hundred; code < hundred+100; code++ {
			f.class[code] = part
		}
		return nil
	}
	code, err := strconv.Atoi(part)
	if err != nil || code < 100 || code > 599 {
		return fmt.Errorf("bad status %q; use codes and classes such as 404,5xx, or none", part)
	}
	f.class[code] = part
	return nil
}

// String implements flag.Value.
func (f *FailOn) String() string {
	if f == nil {
		return ""
	}
	return f.text
}

// Class is the failure class of a status, "" if it does not count as failed.
func (f *FailOn) Class(status int) string {
	if status < 0 || status >= len(f.class) {
		return "" // no class names it
	}
	return f.class[status]
}

// Pattern is a regular expression as a flag.
type Pattern struct{ re *regexp.Regexp }

// Set implements flag.Value.
func (p *Pattern) Set(s string) error {
	re, err := regexp.Compile(s)
	if err != nil {
		return fmt.Errorf("%w; Go's syntax is at https://pkg.go.dev/regexp/syntax", err)
	}
	p.re = re
	return nil
}

// String implements flag.Value.
func (p *Pattern) String() string {
	if p == nil || p.re == nil {
		return ""
	}
	return p.re.String()
}

// Given reports whether there is an expression.
func (p *Pattern) Given() bool { return p.re != nil }

// Check is for http1.Options.Check: nil without a pattern.
func (p *Pattern) Check() func(http1.Content) error {
	if p.re == nil {
		return nil
	}
	mismatch := fmt.Errorf("the body does not match %q", p.re)
	return func(c http1.Content) error {
		switch {
		case p.re.Match(c.Bytes):
			return nil
		case c.Why != nil:
			return fmt.Errorf("%w: %w", mismatch, c.Why)
		}
		return mismatch
	}
}
