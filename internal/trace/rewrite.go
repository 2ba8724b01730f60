package trace

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// TokenNames lists the query parameters that are removed, in small letters: credentials and
// signatures. It leaves out names with another common meaning: code, key, state, hash.
func TokenNames() []string {
	return []string{
		"access_token", "accesstoken", "api_key", "api-key", "apikey", "assertion", "auth", "auth_token", "authorization", "authtoken",
		"awsaccesskeyid", "client_secret", "csrf", "csrf_token", "id_token", "jsessionid", "jwt", "otp", "pass", "passwd",
		"password", "phpsessid", "pwd", "refresh_token", "secret", "session", "session_id", "sessionid", "sid", "sig",
		"signature", "ticket", "token", "x-amz-credential", "x-amz-security-token", "x-amz-signature", "x-goog-credential", "x-goog-signature", "xsrf", "xsrf_token",
	}
}

// Rewriting says how records are changed before they are sent.
type Rewriting struct {
	Scheme, Host string         // "": as recorded
	Strip        string         // text whose first occurrence in the path is removed
	Changes      []Substitution // substitutions in the URI, applied one after the other
	KeepTokens   bool           // do not remove the query parameters of tokens
}

// Substitution replaces all matches in a URI; $1 in With is a group.
type Substitution struct {
	Match *regexp.Regexp
	With  string
}

// ParseSubstitution reads REGEXP=>TEXT, in which $1 is a group.
func ParseSubstitution(s string) (Substitution, error) {
	from, to, ok := strings.Cut(s, "=>")
	if !ok || from == "" {
		return Substitution{}, fmt.Errorf("%.60q is not a rewriting; write REGEXP=>TEXT such as ^/old/(.*)=>/new/$1", s)
	}
	if strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return Substitution{}, fmt.Errorf("%.60q puts blanks or other characters into the URI that it cannot contain; write %%20 for a blank", s)
	}
	match, err := regexp.Compile(from)
	if err != nil {
		return Substitution{}, fmt.Errorf("%.60q: %w; correct the regular expression before =>", s, err)
	}
	return Substitution{match, to}, nil
}

// Rewritten is a stream of changed records.
type Rewritten struct {
	src     Stream
	how     Rewriting
	strip   []byte
	scheme  []byte
	host    []byte
	tokens  map[string]bool
	buf     []byte
	removed uint64 // parameters of the present record
	left    Left
}

// leftSecrets is what a request lacks whose URI had secrets.
const leftSecrets = "query parameters that are secrets (--keep-tokens)"

// Rewrite changes records: first tokens are removed, then Strip, then Changes.
func Rewrite(src Stream, how Rewriting) *Rewritten {
	w := &Rewritten{src: src, how: how, strip: []byte(how.Strip), scheme: []byte(how.Scheme), host: []byte(how.Host), tokens: map[string]bool{}}
	for _, name := range TokenNames() {
		w.tokens[name] = true
	}
	return w
}

// Left is what the requests so far lack.
func (w *Rewritten) Left() *Left { return &w.left }

// Next implements Stream.
func (w *Rewritten) Next(rec *Record) error {
	if err := w.src.Next(rec); err != nil {
		return err
	}
	w.buf, w.removed = w.buf[:0], 0
	if !w.how.KeepTokens {
		rec.URI = w.withoutTokens(rec.URI)
	}
	if w.removed > 0 {
		w.left.Add(Without, leftSecrets, rec.File, rec.Line)
	}
	if len(w.strip) > 0 {
		rec.URI = w.stripped(rec.URI)
	}
	for _, c := range w.how.Changes {
		if c.Match.Match(rec.URI) {
			rec.URI = c.Match.ReplaceAll(rec.URI, []byte(c.With))
		}
	}
	if len(w.how.Changes) > 0 {
		rec.URI = w.rooted(rec.URI)
	}
	if len(w.scheme) > 0 {
		rec.Scheme = w.scheme
	}
	if len(w.host) > 0 {
		rec.Host = w.host
	}
	return nil
}

// rooted puts a slash before a URI that does not begin with one.
func (w *Rewritten) rooted(uri []byte) []byte {
	if len(uri) > 0 && uri[0] == '/' || string(uri) == "*" {
		return uri
	}
	from := len(w.buf)
	w.buf = append(append(w.buf, '/'), uri...)
	return w.buf[from:]
}

// stripped removes the first occurrence of Strip from the path.
func (w *Rewritten) stripped(uri []byte) []byte {
	path, _, _ := bytes.Cut(uri, []byte("?"))
	at := bytes.Index(path, w.strip)
	if at < 0 {
		return uri
	}
	from := len(w.buf)
	w.buf = append(append(w.buf, uri[:at]...), uri[at+len(w.strip):]...)
	return w.rooted(w.buf[from:])
}

// withoutTokens removes the parameters of tokens from the query, and Java's
// ;jsessionid= from the path.
func (w *Rewritten) withoutTokens(uri []byte) []byte {
	if !bytes.ContainsAny(uri, "=;") {
		return uri
	}
	path, query, has := bytes.Cut(uri, []byte("?"))
	from, before := len(w.buf), w.removed
	w.appendParams(path, ';', false)
	if has {
		w.appendParams(query, '&', true)
	}
	if w.removed == before {
		w.buf = w.buf[:from]
		return uri
	}
	return w.buf[from:]
}

// appendParams appends the parameters between sep, without tokens. What comes before the first in a path is
// never a token. It puts ? before a query, unless all are tokens.
func (w *Rewritten) appendParams(list []byte, sep byte, query bool) {
	next := byte(0)
	if query {
		next = '?'
	}
	for first := true; ; first = false {
		param, rest, more := bytes.Cut(list, []byte{sep})
		if (query || !first) && w.isToken(param) {
			w.removed++
		} else {
			if next != 0 {
				w.buf = append(w.buf, next)
			}
			w.buf, next = append(w.buf, param...), sep
		}
		if list = rest; !more {
			return
		}
	}
}

func (w *Rewritten) isToken(param []byte) bool {
	name, _, ok := bytes.Cut(param, []byte("="))
	var small [32]byte // longer than any of the names
	if !ok || len(name) > len(small) {
		return false
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		small[i] = c
	}
	return w.tokens[string(small[:len(name)])]
}
