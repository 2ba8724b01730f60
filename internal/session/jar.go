package session

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The limits of a jar, which RFC 6265, 6.1 asks of browsers as the least.
const (
	maxCookies = 50
	maxCookie  = 4 << 10 // bytes of a Set-Cookie header
	longestAge = 1 << 30 // seconds; 300 years would overflow a time.Duration
)

// jar has the cookies of a user (RFC 6265).
type jar struct{ cookies []cookie }

// Place is where a request goes, which decides about cookies.
type Place struct {
	Host   string // of the URL, without a port; "" is a host, too
	Path   string // also with a query
	Secure bool   // over TLS
}

type cookie struct {
	name, value, path string
	domain            string // the host that set it, or a domain of this host
	wide              bool   // also for the hosts of the domain
	secure            bool
	until             time.Time // zero: the end of the session
}

// set reads a Set-Cookie header, and returns the cookie if it is kept. It ignores a header that is wrong or too long.
// Beyond maxCookies of a domain its oldest cookie goes.
func (j *jar) set(header string, at Place) (k cookie) {
	if len(header) > maxCookie {
		return k
	}
	now := time.Now()
	k, ok := parseCookie(header, now)
	if !ok || k.secure && !at.Secure || !isText(k.name) || !isText(k.value) {
		return cookie{}
	}
	if k.path == "" {
		k.path = folder(at.Path)
	}
	if host := strings.ToLower(at.Host); isDomainOf(k.domain, host) {
		k.wide = true
	} else {
		k.domain = host
	}
	j.cookies = slices.DeleteFunc(j.cookies, func(old cookie) bool {
		return old.name == k.name && old.path == k.path && old.domain == k.domain
	})
	if !k.until.IsZero() && !k.until.After(now) {
		return cookie{} // it was deleted
	}
	j.makeRoom(k.domain)
	j.cookies = append(j.cookies, k)
	return k
}

// makeRoom removes the oldest cookie of a domain that has as many as it may.
func (j *jar) makeRoom(domain string) {
	oldest, n := -1, 0
	for i := range j.cookies {
		if j.cookies[i].domain != domain {
			continue
		}
		if n++; oldest < 0 {
			oldest = i
		}
	}
	if n >= maxCookies {
		j.cookies = slices.Delete(j.cookies, oldest, oldest+1)
	}
}

// isDomainOf reports whether a cookie of host may be for all hosts of domain (RFC 6265, 5.1.3 and 5.3). An address has no
// domain, and neither has one word, such as com.
func isDomainOf(domain, host string) bool {
	if !strings.Contains(domain, ".") || net.ParseIP(host) != nil {
		return false
	}
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// parseCookie reads a Set-Cookie header (RFC 6265, 5.2). Quotes are a part of the value, and blanks around it are not.
// Only a path from the root is one.
func parseCookie(header string, now time.Time) (k cookie, ok bool) {
	pair, attributes, _ := strings.Cut(header, ";")
	name, value, found := strings.Cut(pair, "=")
	k.name, k.value = strings.Trim(name, " \t"), strings.Trim(value, " \t")
	if !found || k.name == "" {
		return k, false
	}
	aged := false // Max-Age is stronger than Expires: 5.3, 3
	for a := range strings.SplitSeq(attributes, ";") {
		name, value, _ := strings.Cut(a, "=")
		switch value = strings.Trim(value, " \t"); strings.ToLower(strings.Trim(name, " \t")) {
		case "secure":
			k.secure = true
		case "path":
			if k.path = ""; strings.HasPrefix(value, "/") {
				k.path = value
			}
		case "domain":
			k.domain = strings.ToLower(strings.TrimPrefix(value, "."))
		case "max-age":
			if age, ok := maxAge(value); ok {
				k.until, aged = now.Add(age), true
			}
		case "expires":
			if at, ok := cookieDate(value); ok && !aged {
				k.until = at
			}
		}
	}
	return k, true
}

// maxAge reads the value of Max-Age. What is not above 0 has ended already.
func maxAge(value string) (age time.Duration, ok bool) {
	digits := strings.TrimPrefix(value, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	seconds, err := strconv.Atoi(value)
	switch {
	case digits != value || err == nil && seconds == 0:
		return -time.Second, true
	case err != nil:
		seconds = longestAge // more digits than an int has
	}
	return time.Duration(min(seconds, longestAge)) * time.Second, true
}

// cookieDate reads a date as RFC 6265, 5.1.1 does: its parts in any order, whatever is between them.
func cookieDate(value string) (at time.Time, ok bool) {
	year, month, day, clock := -1, time.Month(0), -1, ""
	var h, m, s int
	words := strings.FieldsFunc(value, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == ':' || r >= 0x7f)
	})
	for _, w := range words {
		n, err := strconv.Atoi(w)
		switch {
		case clock == "" && strings.Count(w, ":") == 2:
			if t, err := time.Parse("15:04:05", w); err == nil {
				clock = w
				h, m, s = t.Clock()
			}
		case day < 0 && err == nil && len(w) <= 2:
			day = n
		case month == 0 && monthOf(w) > 0:
			month = monthOf(w)
		case year < 0 && err == nil && (len(w) == 2 || len(w) == 4):
			year = n
		}
	}
	switch {
	case year >= 70 && year <= 99:
		year += 1900
	case year >= 0 && year <= 69:
		year += 2000
	}
	if at = time.Date(year, month, day, h, m, s, 0, time.UTC); clock == "" || month == 0 || year < 1601 || at.Day() != day {
		return time.Time{}, false
	}
	return at, true
}

// monthOf is the month with this name, of which three letters count; 0: there is none.
func monthOf(word string) time.Month {
	for m := time.January; m <= time.December && len(word) >= 3; m++ {
		if strings.EqualFold(word[:3], m.String()[:3]) {
			return m
		}
	}
	return 0
}

// isText reports whether a value can be in a Cookie header.
func isText(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c == 0x7f || c == ';' {
			return false
		}
	}
	return true
}

// folder is the default path of a cookie (RFC 6265, 5.1.4).
func folder(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// appendTo appends the cookies for a request.
func (j *jar) appendTo(dst []byte, at Place) []byte {
	if len(j.cookies) == 0 {
		return dst
	}
	path, _, _ := strings.Cut(at.Path, "?")
	host := strings.ToLower(at.Host)
	now, first := time.Now(), true
	for _, c := range j.cookies {
		if c.secure && !at.Secure || !c.until.IsZero() && !c.until.After(now) || !within(path, c.path) ||
			c.domain != host && !(c.wide && isDomainOf(c.domain, host)) {
			continue
		}
		if !first {
			dst = append(dst, "; "...)
		}
		first = false
		dst = append(append(append(dst, c.name...), '='), c.value...)
	}
	return dst
}

// within reports whether a path matches that of a cookie (RFC 6265, 5.1.4).
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder) && (strings.HasSuffix(folder, "/") || path[len(folder)] == '/')
}
