package httpreq

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/taktload/takt/pkg/takt"
)

// schemeless matches a URL without a scheme that nobody takes for a file.
var schemeless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(localhost|[0-9]+(\.[0-9]+){3}|([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]+)([/?]|$)`)
})

// IsHostPort reports whether s is a URL without its scheme: localhost, an address, or a host with
// a port. takt reads it as http://.
func IsHostPort(s string) bool { return schemeless().MatchString(s) }

// schemed matches the beginning of a URL with a scheme and a host.
var schemed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`) })

// Whole is a URL of a request with its scheme if it names a host, and "" if it is a path or a query of base.
// So another URL in its query makes it none.
func Whole(base *url.URL, s string) string {
	switch {
	case strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//"):
		return "" // a path, as nearly all are
	case schemed().MatchString(s):
		return s
	case IsHostPort(s):
		return "http://" + s
	case base != nil && strings.HasPrefix(s, "//"):
		return base.Scheme + ":" + s // RFC 3986, 4.2
	}
	return ""
}

// SplitTarget cuts a whole URL behind its host. Without a target there is a placeholder in the host, or nothing
// behind it.
func SplitTarget(s string) (base, target string) {
	from := len(schemed().FindString(s))
	i := strings.IndexAny(s[from:], "/?#{")
	if i < 0 || s[from+i] == '{' {
		return s, ""
	}
	base, target = s[:from+i], s[from+i:]
	if target[0] != '/' {
		target = "/" + target
	}
	return base, target
}

// ParseURL reads the URL of a target. A host with a port needs no scheme.
func ParseURL(s string) (*url.URL, error) {
	return ParseWhole(cmp.Or(Whole(nil, s), s))
}

// ParseWhole is ParseURL of a text that has its scheme.
func ParseWhole(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, urlFault(s, u, err)
	}
	if n, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || n < 1 || n > 65535) {
		return nil, fmt.Errorf("url %q has the port %s; a port is 1 to 65535", HideUser(s), u.Port())
	}
	return u, nil
}

// RequestURL reads the URL of a request, which may be relative to base. base may be nil.
func RequestURL(base *url.URL, s string) (*url.URL, error) {
	if w := Whole(base, s); w != "" {
		return ParseWhole(w)
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "" { // without a host: mailto:a, http:a or http:/a
		return nil, urlFault(s, u, nil)
	}
	if base == nil {
		return nil, fmt.Errorf("%q has no http:// or https:// scheme and host; write it whole, or give the url that it is relative to", s)
	}
	return Complete(base, u), nil
}

// Verbatim is the path and query of u, which s is on base. Braces, of which net/url would make %7B, are sent as they
// are written.
func Verbatim(base, u *url.URL, s string) string {
	if !strings.Contains(s, Placeholder) {
		return u.RequestURI()
	}
	target := s
	if w := Whole(base, s); w != "" {
		_, target = SplitTarget(w)
	}
	if target, _, _ = strings.Cut(target, "#"); !strings.HasPrefix(target, "/") {
		return u.RequestURI() // beside the path of base
	}
	return target
}

// WithoutZone is a host and port without the zone of an IPv6 address, which means something on this machine only:
// RFC 6874, 1.
func WithoutZone(host string) string {
	from, to := strings.IndexByte(host, '%'), strings.LastIndexByte(host, ']')
	switch {
	case from < 0:
		return host
	case to < 0: // of URL.Hostname
		return host[:from]
	case to < from:
		return host
	}
	return host[:from] + host[to:]
}

// SameOrigin reports whether two URLs are of one server: RFC 6454, 4 and 5.
func SameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(HostPort(a), HostPort(b))
}

// urlFault says why s, of which url.Parse made u and err, is no URL of a target.
func urlFault(s string, u *url.URL, err error) error {
	shown := HideUser(s)
	var parsing *url.Error
	switch {
	case !strings.Contains(s, "://"):
		scheme, rest, _ := strings.Cut(shown, ":")
		if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
			if err == nil && u.Scheme != "" && shown == s {
				return fmt.Errorf("url %q has the scheme %s and no host; write it as in http://127.0.0.1:8080/", s, u.Scheme)
			}
			scheme, rest = "http", shown
		}
		return fmt.Errorf("url %q has no http:// or https:// scheme and host; did you mean %s://%s?", shown, scheme, strings.TrimLeft(rest, "/"))
	case err != nil && shown != s: // the cause may show a part of the password
		return fmt.Errorf("url %q cannot be read; in a user or password write / ? # %% @ as %%2F %%3F %%23 %%25 %%40", shown)
	case errors.As(err, &parsing):
		return fmt.Errorf("url %q: %w", s, parsing.Err)
	case u.Host == "":
		return fmt.Errorf("url %q has no host; write it as in http://127.0.0.1:8080/", s)
	}
	return fmt.Errorf("url %q has the scheme %s; use http or https", shown, u.Scheme)
}

// HideUser hides what stands before the last @ of a URL that may be none.
func HideUser(s string) string {
	i, from := strings.LastIndex(s, "@"), 0
	if i < 0 {
		return s
	}
	if scheme := strings.Index(s, "://"); scheme >= 0 && scheme < i {
		from = scheme + len("://")
	}
	return s[:from] + takt.Redacted + s[i:]
}

// Complete gives u, which may be relative, the scheme and host of base. Unlike
// ResolveReference it leaves the dots and empty segments of a path as they are, for
// they are sent.
func Complete(base, u *url.URL) *url.URL {
	switch {
	case base == nil || u.Scheme != "":
		return u
	case u.Host == "" && !strings.HasPrefix(u.Path, "/"):
		return base.ResolveReference(u) // beside base's own path
	}
	at := *u
	at.Scheme = base.Scheme
	if at.Host == "" {
		at.Host, at.User = base.Host, base.User
	}
	return &at
}

// HostPort is host:port of u.
func HostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), DefaultPort(u))
}

func DefaultPort(u *url.URL) string {
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
