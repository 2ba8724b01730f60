package cli

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/pkg/takt"
)

// How long a secret has to be, in bytes, to be found in a text by itself. A shorter one
// cannot be told from ordinary text: it is hidden only where a secret stands.
const (
	minWord     = 4  // found as a whole word
	minAnywhere = 16 // also within a word: no ordinary word is so long by accident
)

// scrubber takes secrets out of texts.
type scrubber struct {
	forms  map[byte][]string // how a secret may be written, by the first byte; longest first
	public []string          // words that everybody may see
}

// newScrubber finds the secrets that the flags and the holders have. public are the
// words of the command line that are shown: a secret that is also one of them, as in
// --user artemis --password artemis, is no secret there.
func newScrubber(fs *pflag.FlagSet, public []string, holders ...any) *scrubber {
	var secrets []string
	add := func(v any) {
		if s, ok := v.(takt.Secretive); ok {
			secrets = append(secrets, s.Secrets()...)
		}
	}
	fs.VisitAll(func(f *pflag.Flag) { add(f.Value) })
	for _, h := range holders {
		add(h)
	}
	s := &scrubber{map[byte][]string{}, public}
	for _, secret := range secrets {
		for _, form := range formsOf(secret) {
			s.forms[form[0]] = append(s.forms[form[0]], form)
		}
	}
	for first, list := range s.forms { // the end of a secret that begins with another one must not be left
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
		s.forms[first] = slices.Compact(list)
	}
	return s
}

// formsOf are the ways to write a secret: as it is, in a Go error, in JSON, in a URL, in
// base64.
func formsOf(secret string) []string {
	if secret == "" {
		return nil // it would be found before every character
	}
	quoted := strconv.Quote(secret)
	inJSON, _ := json.Marshal(secret) // a string: cannot fail
	user, _ := strings.CutPrefix(url.UserPassword("", secret).String(), ":")
	all := []string{secret, quoted[1 : len(quoted)-1], string(inJSON[1 : len(inJSON)-1]), user}
	for _, escaped := range []string{url.PathEscape(secret), url.QueryEscape(secret)} {
		all = append(all, escaped, lowerEscapes(escaped))
	}
	all = append(all, base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)))
	slices.Sort(all)
	return slices.Compact(all)
}

var escapes = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerEscapes(s string) string { return escapes.ReplaceAllStringFunc(s, strings.ToLower) }

// Replace puts takt.Redacted into the places of secrets.
func (s *scrubber) Replace(text string) string {
	if s == nil || len(s.forms) == 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := s.secretAt(text, i); n > 0 {
			b.WriteString(takt.Redacted)
			i += n
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// secretAt is the length of the secret that begins there; 0: none does.
func (s *scrubber) secretAt(text string, i int) int {
	for _, form := range s.forms[text[i]] {
		if strings.HasPrefix(text[i:], form) && s.standsAlone(text, i, form) {
			return len(form)
		}
	}
	return 0
}

func (s *scrubber) standsAlone(text string, i int, form string) bool {
	before, after := text[:i], text[i+len(form):]
	switch {
	case len(form) >= minAnywhere:
		return true
	case !isBoundary(before, form, after):
		return false
	case len(form) >= minWord && !s.isPublic(form):
		return true
	}
	alone := strings.TrimSpace(before+after) == "" && !slices.Contains(s.public, form)
	return alone || secretFollows.MatchString(before[max(0, len(before)-maxKey):])
}

func (s *scrubber) isPublic(form string) bool {
	return slices.ContainsFunc(s.public, func(word string) bool { return strings.Contains(word, form) })
}

// secretFollows ends where a secret stands: password=, "token": ", Authorization: Bearer.
// In the userinfo of a URL hidePassword finds it.
var secretFollows = regexp.MustCompile(`(?i)(` +
	`(pass(word|wd|phrase|code)?|pwd|secret|token|api[-_ ]?key|access[-_ ]?key|credentials?|auth|authorization|cookie)["']?\s*[:=]\s*["']?` +
	`|\b(basic|bearer|apikey)\s+` +
	`)$`)

// maxKey is how far before a secret its name may begin, in bytes.
const maxKey = 64

// isBoundary reports whether the form is whole: no letter or digit that follows an equal
// one is before or after it.
func isBoundary(before, form, after string) bool {
	first, _ := utf8.DecodeRuneInString(form)
	last, _ := utf8.DecodeLastRuneInString(form)
	next, _ := utf8.DecodeRuneInString(after)
	previous, _ := utf8.DecodeLastRuneInString(before)
	return !(isWordRune(last) && isWordRune(next)) && (!(isWordRune(first) && isWordRune(previous)) || escapeEnds.MatchString(before[max(0, len(before)-3):]))
}

// escapeEnds is the end of a line break in a quoted text or of a character in a URL,
// whose letters are no part of a word: \nSECRET, %3ASECRET.
var escapeEnds = regexp.MustCompile(`(\\[abfnrtv]|%[0-9A-Fa-f]{2})$`)

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// password is that of a URL, up to the last @, also of one that could not be parsed
// and of one with %40 in it, which a driver knows as @. What stands before it here is
// none: the colons of the scheme, of an IPv6 address and of a port.
var password = regexp.MustCompile(`://|\[[0-9A-Fa-f:.]+\]|:\d+[/?#]|:[^\s"]+@`)

func hidePassword(s string) string {
	return password.ReplaceAllStringFunc(s, func(match string) string {
		if !strings.HasSuffix(match, "@") {
			return match
		}
		return ":" + takt.Redacted + "@"
	})
}

// credentials are those of a header that a server echoes, or of a list that nobody
// knew before the run.
var credentials = regexp.MustCompile(`(?i)\b(authorization:\s*|basic\s+|bearer\s+)((?:basic|bearer)\s+)?[A-Za-z0-9._~+/=-]{4,}`)

// hideCredentials is for what others wrote: error samples and bodies.
func hideCredentials(s string) string {
	return credentials.ReplaceAllString(hidePassword(s), "${1}${2}"+takt.Redacted)
}

// redacter is a flag value of which a part is never shown, whatever it holds.
type redacter interface{ Redact(value string) string }

// hidden is how the value of a flag is shown on a command line.
func hidden(f any, value string) string {
	if f, ok := f.(redacter); ok {
		return f.Redact(value)
	}
	return hidePassword(value)
}
