package session

import (
	"net/http"
	"strings"
	"time"
)

// The limits of a jar, which RFC 6265, 6.1 asks of browsers as the least.
const (
	maxCookies = 50
	maxCookie  = 4 << 10 // bytes of a Set-Cookie header
	longestAge = 1 << 30 // seconds; 300 years would overflow a time.Duration
)

// jar has the cookies of one host (RFC 6265). Domain has no effect, because a user of takt talks to
// one host only.
type jar struct{ cookies []cookie }

type cookie struct {
	name, value, path string
	secure            bool
	until             time.Time // zero: the end of the session
}

// set reads a Set-Cookie header. It ignores a header that is wrong or too long. Beyond maxCookies
// the oldest cookie goes.
func (j *jar) set(header, path string, secure bool) {
	if len(header) > maxCookie {
		return
	}
	c, err := http.ParseSetCookie(header)
	if err != nil || c.Secure && !secure || !isText(c.Value) {
		return
	}
	now := time.Now()
	k := cookie{name: c.Name, value: c.Value, path: c.Path, secure: c.Secure, until: c.Expires}
	if !strings.HasPrefix(k.path, "/") {
		k.path = folder(path)
	}
	if c.MaxAge != 0 {
		k.until = now.Add(time.Duration(min(c.MaxAge, longestAge)) * time.Second)
	}
	for i, old := range j.cookies {
		if old.name == k.name && old.path == k.path {
			j.cookies = append(j.cookies[:i], j.cookies[i+1:]...)
			break
		}
	}
	if !k.until.IsZero() && !k.until.After(now) {
		return // it was deleted
	}
	if len(j.cookies) == maxCookies {
		j.cookies = append(j.cookies[:0], j.cookies[1:]...)
	}
	j.cookies = append(j.cookies, k)
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
func (j *jar) appendTo(dst []byte, path string, secure bool) []byte {
	if len(j.cookies) == 0 {
		return dst
	}
	path, _, _ = strings.Cut(path, "?")
	now, first := time.Now(), true
	for _, c := range j.cookies {
		if c.secure && !secure || !c.until.IsZero() && !c.until.After(now) || !within(path, c.path) {
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
