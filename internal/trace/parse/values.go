package parse

import (
	"bytes"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace"
)

// Absent reports whether v stands for no value. Akamai writes ^.
func Absent(v []byte) bool { return len(v) == 0 || len(v) == 1 && (v[0] == '-' || v[0] == '^') }

// Start stores when the request started.
func Start(f *Line, v []byte) error { return f.instant(v, false) }

// End stores when the request ended.
func End(f *Line, v []byte) error { return f.instant(v, true) }

func (f *Line) instant(v []byte, ended bool) error {
	at, whole, err := f.clock.Any(v)
	if err != nil && f.NoTimes {
		return nil // Finish counts it
	}
	if err == nil {
		f.Rec.At, f.Rec.Second, f.Rec.Ended = at, whole, ended
		f.Rec.Zoned, f.Rec.Offset = f.clock.Zoned, f.clock.Offset
	}
	return err
}

// Request splits a request line into method, URI and version, which HTTP/0.9 omits.
// Blanks inside the URI belong to it.
func Request(f *Line, v []byte) error {
	v = bytes.TrimSpace(f.text(v))
	method, uri, ok := bytes.Cut(v, []byte(" "))
	switch {
	case Absent(v):
		return Blank
	case !ok || !IsMethod(method):
		return Garbage
	case string(method) == tunnel:
		return Tunnel
	}
	if i := bytes.LastIndexByte(uri, ' '); i >= 0 && bytes.HasPrefix(uri[i+1:], []byte("HTTP/")) {
		uri = uri[:i]
	}
	f.Rec.Method = method
	return f.SetURI(uri)
}

// tunnel is the method of a client that wants a connection to another server.
const tunnel = "CONNECT"

// Method stores a method, in capitals or small letters.
func Method(f *Line, v []byte) error {
	if !IsMethod(v) {
		v = bytes.ToUpper(v) // some JSON logs have small letters
	}
	switch {
	case Absent(v):
		return Blank
	case !IsMethod(v):
		return Garbage
	case string(v) == tunnel:
		return Tunnel
	}
	f.Rec.Method = v
	return nil
}

// URI stores a path or a URL, with the escapes of the server.
func URI(f *Line, v []byte) error { return f.SetURI(f.text(v)) }

// SetURI stores a path or a URL without escapes.
func (f *Line) SetURI(v []byte) error {
	v = bytes.TrimSpace(v)
	if i := bytes.Index(v, []byte("://")); i > 0 && IsScheme(v[:i]) {
		rest := v[i+3:]
		end := bytes.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return OtherURL
		}
		f.Rec.Scheme, f.Rec.Host = v[:i], rest[:end]
		if at := bytes.LastIndexByte(f.Rec.Host, '@'); at >= 0 {
			f.Rec.Host = f.Rec.Host[at+1:] // credentials are never replayed
		}
		if v = rest[end:]; len(v) == 0 || v[0] != '/' {
			v = f.Rec.Join(nil, "/", v)
		}
	}
	if i := bytes.IndexByte(v, '#'); i >= 0 {
		v = v[:i] // a fragment is not sent
	}
	switch {
	case Absent(v):
		return Blank
	case v[0] != '/' && string(v) != "*":
		return OtherURL
	}
	f.Rec.URI = f.sendable(v)
	return nil
}

// IsScheme reports whether v is http or https.
func IsScheme(v []byte) bool { return string(v) == "http" || string(v) == "https" }

// IsMethod accepts 1 to 20 capitals, - and _: PROPFIND, M-SEARCH.
func IsMethod(v []byte) bool {
	for _, b := range v {
		if (b < 'A' || b > 'Z') && b != '-' && b != '_' {
			return false
		}
	}
	return len(v) > 0 && len(v) <= 20 && v[0] >= 'A'
}

// sendable percent-encodes what a request line cannot contain: blanks, control characters
// and bytes from 0x7f on.
func (f *Line) sendable(v []byte) []byte {
	i := 0
	for i < len(v) && v[i] > ' ' && v[i] < 0x7f {
		i++
	}
	if i == len(v) {
		return v
	}
	at := len(f.Rec.Memory)
	f.Rec.Memory = append(f.Rec.Memory, v[:i]...)
	for _, b := range v[i:] {
		if b > ' ' && b < 0x7f {
			f.Rec.Memory = append(f.Rec.Memory, b)
		} else {
			f.Rec.Memory = append(f.Rec.Memory, '%', hexDigits[b>>4], hexDigits[b&15])
		}
	}
	return f.Rec.Memory[at:]
}

// Query stores a query that is logged apart from its path, with or without ?.
func Query(f *Line, v []byte) error {
	if Absent(v) || string(v) == "?" {
		return nil
	}
	if v = f.text(v); bytes.Contains(v, []byte("SERVER-ROUTED=")) {
		v = f.withoutGateway(v)
	}
	f.query = v
	return nil
}

// withoutGateway removes the parameters that Azure's Application Gateway v1 writes into the query of its log,
// about itself and its server.
func (f *Line) withoutGateway(query []byte) []byte {
	at := len(f.Rec.Memory)
	for param := range bytes.SplitSeq(query, []byte("&")) {
		name, _, _ := bytes.Cut(param, []byte("="))
		if bytes.HasPrefix(name, []byte("X-AzureApplicationGateway-")) || bytes.HasPrefix(name, []byte("SERVER-")) {
			continue
		}
		if len(f.Rec.Memory) > at {
			f.Rec.Memory = append(f.Rec.Memory, '&')
		}
		f.Rec.Memory = append(f.Rec.Memory, param...)
	}
	return f.Rec.Memory[at:]
}

// Status stores the status of the answer.
func Status(f *Line, v []byte) error {
	if Absent(v) || string(v) == "0" { // Envoy and Caddy write 0 for no answer
		return nil
	}
	n := Digits(v)
	if len(v) != 3 || n < 0 {
		return ErrStatus
	}
	f.Rec.Status = n
	return nil
}

// Size returns the setter of a size. A - is 0, as Apache writes it. worse: any other
// size in the line is better.
func Size(to func(r *trace.Record) *int64, worse bool) Setter {
	return func(f *Line, v []byte) error {
		p, n := to(f.Rec), 0
		if !Absent(v) {
			n = Digits(v)
		}
		if n < 0 || len(v) > 18 {
			return errSize
		}
		if !worse || *p == trace.Unknown {
			*p = int64(n)
		}
		return nil
	}
}

// AnswerBytes is the size that Size stores of an answer.
func AnswerBytes(r *trace.Record) *int64 { return &r.Bytes }

// RequestBytes is the size that Size stores of a request.
func RequestBytes(r *trace.Record) *int64 { return &r.RequestBytes }

// Latency returns the setter of a latency in the given unit.
func Latency(unit time.Duration) Setter {
	return func(f *Line, v []byte) error { return f.Latency(v, unit) }
}

// Latency stores a latency in the given unit.
func (f *Line) Latency(v []byte, unit time.Duration) error {
	if Absent(v) {
		return nil
	}
	d, ok := Decimal(v, unit)
	if !ok {
		return ErrTaken
	}
	f.Rec.Latency = d
	return nil
}

// Host stores a host, with or without a port.
func Host(f *Line, v []byte) error {
	if !Absent(v) {
		f.Rec.Host = v
	}
	return nil
}

// Scheme stores http or https, and ignores other texts.
func Scheme(f *Line, v []byte) error {
	if IsScheme(v) {
		f.Rec.Scheme = v
	}
	return nil
}

// Client stores an address. It cuts off the port of an IPv4 address or of an address in
// brackets.
func Client(f *Line, v []byte) error {
	if Absent(v) {
		return nil
	}
	if at := bytes.LastIndexByte(v, ':'); at > 0 && (v[at-1] == ']' || bytes.IndexByte(v, ':') == at) {
		v = v[:at]
	}
	f.Rec.Client = bytes.Trim(v, "[]")
	return nil
}

// Referer stores the header Referer.
func Referer(f *Line, v []byte) error {
	if !Absent(v) {
		f.Rec.Referer = f.text(v)
	}
	return nil
}

// Agent stores the header User-Agent.
func Agent(f *Line, v []byte) error {
	if !Absent(v) {
		f.Rec.Agent = f.text(v)
	}
	return nil
}

// Layout reads a time by its layout and passes it to set in a form that Clock reads.
func Layout(layout string, set Setter) Setter {
	return func(f *Line, v []byte) error {
		at, err := time.Parse(layout, string(v))
		if err != nil {
			return errTime
		}
		form := "2006-01-02T15:04:05"
		if strings.Contains(layout, "000") || strings.Contains(layout, "999") {
			form += ".000000000"
		}
		if strings.Contains(layout, "-0700") {
			form += "-0700"
		}
		from := len(f.Rec.Memory)
		f.Rec.Memory = at.AppendFormat(f.Rec.Memory, form)
		return set(f, f.Rec.Memory[from:])
	}
}

const hexDigits = "0123456789ABCDEF"
