package trace

import (
	"bytes"
	"strings"
	"time"
)

// absent reports whether v stands for no value.
func absent(v []byte) bool { return len(v) == 0 || len(v) == 1 && v[0] == '-' }

func setStart(f *filler, v []byte) error {
	at, whole, err := f.clock.any(v)
	if err == nil {
		f.rec.At, f.rec.Second, f.rec.Ended = at, whole, false
	}
	return err
}

func setEnd(f *filler, v []byte) error {
	err := setStart(f, v)
	f.rec.Ended = err == nil
	return err
}

// finest prefers a time with a fraction to a later one without: nginx users add $msec to
// $time_local.
func finest(set setter) setter {
	return func(f *filler, v []byte) error {
		at, second, ended := f.rec.At, f.rec.Second, f.rec.Ended
		err := set(f, v)
		if !at.IsZero() && !second && f.rec.Second {
			f.rec.At, f.rec.Second, f.rec.Ended = at, second, ended
		}
		return err
	}
}

// setRequest splits a request line into method, URI and version, which HTTP/0.9 omits.
// Blanks inside the URI belong to it.
func setRequest(f *filler, v []byte) error {
	v = bytes.TrimSpace(f.text(v))
	method, uri, ok := bytes.Cut(v, []byte(" "))
	if !ok || !isMethod(method) {
		return errNoRequest
	}
	if i := bytes.LastIndexByte(uri, ' '); i >= 0 && bytes.HasPrefix(uri[i+1:], []byte("HTTP/")) {
		uri = uri[:i]
	}
	f.rec.Method = method
	return f.setURI(uri)
}

func setMethod(f *filler, v []byte) error {
	if !isMethod(v) {
		v = bytes.ToUpper(v) // some JSON logs have small letters
	}
	if !isMethod(v) {
		return errNoRequest
	}
	f.rec.Method = v
	return nil
}

func setURI(f *filler, v []byte) error { return f.setURI(f.text(v)) }

// setURI stores a path or a URL of a request line or a list.
func (f *filler) setURI(v []byte) error {
	v = bytes.TrimSpace(v)
	if i := bytes.Index(v, []byte("://")); i > 0 && isScheme(v[:i]) {
		rest := v[i+3:]
		end := bytes.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return errNoRequest
		}
		f.rec.Scheme, f.rec.Host = v[:i], rest[:end]
		if at := bytes.LastIndexByte(f.rec.Host, '@'); at >= 0 {
			f.rec.Host = f.rec.Host[at+1:] // credentials are never replayed
		}
		if v = rest[end:]; len(v) == 0 || v[0] != '/' {
			v = f.rec.Join([]byte("/"), v)
		}
	}
	if i := bytes.IndexByte(v, '#'); i >= 0 {
		v = v[:i] // a fragment is not sent
	}
	if len(v) == 0 || v[0] != '/' && string(v) != "*" {
		return errNoRequest
	}
	f.rec.URI = f.sendable(v)
	return nil
}

func isScheme(v []byte) bool { return string(v) == "http" || string(v) == "https" }

// isMethod accepts 1 to 20 capitals, - and _: PROPFIND, M-SEARCH.
func isMethod(v []byte) bool {
	for _, b := range v {
		if (b < 'A' || b > 'Z') && b != '-' && b != '_' {
			return false
		}
	}
	return len(v) > 0 && len(v) <= 20 && v[0] >= 'A'
}

// sendable percent-encodes what a request line cannot contain: blanks, control characters
// and bytes from 0x7f on.
func (f *filler) sendable(v []byte) []byte {
	i := 0
	for i < len(v) && v[i] > ' ' && v[i] < 0x7f {
		i++
	}
	if i == len(v) {
		return v
	}
	at := len(f.rec.Memory)
	f.rec.Memory = append(f.rec.Memory, v[:i]...)
	for _, b := range v[i:] {
		if b > ' ' && b < 0x7f {
			f.rec.Memory = append(f.rec.Memory, b)
		} else {
			f.rec.Memory = append(f.rec.Memory, '%', hexDigits[b>>4], hexDigits[b&15])
		}
	}
	return f.rec.Memory[at:]
}

func setQuery(f *filler, v []byte) error {
	if !absent(v) && string(v) != "?" {
		f.query = f.text(v)
	}
	return nil
}

func setStatus(f *filler, v []byte) error {
	if absent(v) || string(v) == "0" { // Envoy and Caddy write 0 for no answer
		return nil
	}
	n := digits(v)
	if len(v) != 3 || n < 0 {
		return errStatus
	}
	f.rec.Status = n
	return nil
}

// setSize returns the setter of a size. A - is 0, as Apache writes it. worse: any other
// size in the line is better.
func setSize(to func(r *Record) *int64, worse bool) setter {
	return func(f *filler, v []byte) error {
		p, n := to(f.rec), 0
		if !absent(v) {
			n = digits(v)
		}
		if n < 0 || len(v) > 18 {
			return errSize
		}
		if !worse || *p == Unknown {
			*p = int64(n)
		}
		return nil
	}
}

func answerBytes(r *Record) *int64  { return &r.Bytes }
func requestBytes(r *Record) *int64 { return &r.RequestBytes }

// setLatency returns the setter of a latency in the given unit.
func setLatency(unit time.Duration) setter {
	return func(f *filler, v []byte) error { return f.latency(v, unit) }
}

func (f *filler) latency(v []byte, unit time.Duration) error {
	if absent(v) {
		return nil
	}
	d, ok := decimal(v, unit)
	if !ok {
		return errTaken
	}
	f.rec.Latency = d
	return nil
}

func setHost(f *filler, v []byte) error {
	if !absent(v) {
		f.rec.Host = v
	}
	return nil
}

func setScheme(f *filler, v []byte) error {
	if isScheme(v) {
		f.rec.Scheme = v
	}
	return nil
}

// setClient stores an address. It cuts off the port of an IPv4 address or of an address in
// brackets.
func setClient(f *filler, v []byte) error {
	if absent(v) {
		return nil
	}
	if at := bytes.LastIndexByte(v, ':'); at > 0 && (v[at-1] == ']' || bytes.IndexByte(v, ':') == at) {
		v = v[:at]
	}
	f.rec.Client = bytes.Trim(v, "[]")
	return nil
}

func setReferer(f *filler, v []byte) error {
	if !absent(v) {
		f.rec.Referer = f.text(v)
	}
	return nil
}

func setAgent(f *filler, v []byte) error {
	if !absent(v) {
		f.rec.Agent = f.text(v)
	}
	return nil
}

// setLayout reads a time by its layout and passes it to set in a form that clock reads.
func setLayout(layout string, set setter) setter {
	return func(f *filler, v []byte) error {
		at, err := time.Parse(layout, string(v))
		if err != nil {
			return errTime
		}
		form := "2006-01-02T15:04:05"
		if strings.Contains(layout, "000") {
			form += ".000000"
		}
		if strings.Contains(layout, "-0700") {
			form += "-0700"
		}
		from := len(f.rec.Memory)
		f.rec.Memory = at.AppendFormat(f.rec.Memory, form)
		return set(f, f.rec.Memory[from:])
	}
}

const hexDigits = "0123456789ABCDEF"
