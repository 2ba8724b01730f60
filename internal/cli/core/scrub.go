package core

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// The least length of a secret, in bytes, to be hidden wherever it occurs. A shorter secret
// could be ordinary text, so it is hidden only where a secret is expected, or as the whole text.
const (
	minWord     = 4  // hidden as a whole word
	minAnywhere = 16 // hidden within a word, too: ordinary text does not contain it by accident
)

// Scrubber replaces secrets in texts.
type Scrubber struct {
	forms  map[byte][]string // all spellings of the secrets, by first byte; longest first
	public []string          // words that everybody may see
}

// NewScrubber collects the secrets of the flags and the holders. public are the visible words of
// the command line. A secret of fewer than 16 bytes that one of them contains, as in --user
// artemis --password artemis, is hidden only where a secret is expected.
func NewScrubber(fs *pflag.FlagSet, public []string, holders ...any) *Scrubber {
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
	s := &Scrubber{map[byte][]string{}, public}
	for _, secret := range secrets {
		for _, form := range formsOf(secret) {
			s.forms[form[0]] = append(s.forms[form[0]], form)
		}
	}
	for first, list := range s.forms { // if one secret begins with another, replace the longer one
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
		s.forms[first] = slices.Compact(list)
	}
	return s
}

// formsOf returns the spellings of a secret: plain, in a Go error, in JSON, in a URL, in base64.
func formsOf(secret string) []string {
	if secret == "" {
		return nil // it would match everywhere
	}
	quoted := strconv.Quote(secret)
	inJSON, _ := json.Marshal(secret) // cannot fail for a string
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

// Replace replaces secrets by takt.Redacted.
func (s *Scrubber) Replace(text string) string { return s.replace(text, 1) }

// replace replaces secrets of at least that many bytes.
func (s *Scrubber) replace(text string, least int) string {
	if s == nil || len(s.forms) == 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := s.secretAt(text, i); n >= least {
			b.WriteString(takt.Redacted)
			i += n
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// HideIn replaces secrets in the parts of a report that repeat the command line: labels, variables, the
// driver's own figures and warnings. Only long secrets are replaced. Labels and variables tell runs apart,
// so a password such as kafka must not change the name of a host.
func (s *Scrubber) HideIn(r *takt.Report) {
	if s == nil || len(s.forms) == 0 {
		return
	}
	r.Labels, r.Variables, r.Extra, r.Warnings = hidden(s, r.Labels), hidden(s, r.Variables), hidden(s, r.Extra), hidden(s, r.Warnings)
}

// hidden is a copy of v whose texts have no long secrets.
func hidden[T any](s *Scrubber, v T) T {
	to := reflect.New(reflect.TypeFor[T]()).Elem()
	to.Set(reflect.ValueOf(v))
	s.hideIn(to)
	return to.Interface().(T)
}

// hideIn replaces what v leads to by copies: the driver may use the original.
func (s *Scrubber) hideIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s.replace(v.String(), minAnywhere))
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			s.hideInElem(v)
		}
	case reflect.Slice:
		if !v.IsNil() {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
		}
		for i := range v.Len() {
			s.hideIn(v.Index(i))
		}
	case reflect.Map:
		s.hideInMap(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s.hideIn(v.Field(i))
			}
		}
	}
}

func (s *Scrubber) hideInElem(v reflect.Value) {
	elem := reflect.New(v.Elem().Type())
	elem.Elem().Set(v.Elem())
	s.hideIn(elem.Elem())
	if v.Kind() == reflect.Interface {
		elem = elem.Elem()
	}
	v.Set(elem)
}

func (s *Scrubber) hideInMap(v reflect.Value) {
	if v.IsNil() {
		return
	}
	to := reflect.MakeMapWithSize(v.Type(), v.Len())
	for pair := v.MapRange(); pair.Next(); {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.Set(pair.Key())
		value.Set(pair.Value())
		s.hideIn(key)
		s.hideIn(value)
		to.SetMapIndex(key, value)
	}
	v.Set(to)
}

// secretAt is the length of the secret that begins at text[i]; 0: there is none.
func (s *Scrubber) secretAt(text string, i int) int {
	for _, form := range s.forms[text[i]] {
		if strings.HasPrefix(text[i:], form) && s.standsAlone(text, i, form) {
			return len(form)
		}
	}
	return 0
}

func (s *Scrubber) standsAlone(text string, i int, form string) bool {
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

func (s *Scrubber) isPublic(form string) bool {
	return slices.ContainsFunc(s.public, func(word string) bool { return strings.Contains(word, form) })
}

// secretFollows matches a text after which a secret is expected: password=, "token": ",
// Authorization: Bearer. Passwords of URLs are left to HidePassword.
var secretFollows = regexp.MustCompile(`(?i)(` +
	`(pass(word|wd|phrase|code)?|pwd|secret|token|api[-_ ]?key|access[-_ ]?key|credentials?|auth|authorization|cookie)["']?\s*[:=]\s*["']?` +
	`|\b(basic|bearer|apikey)\s+` +
	`)$`)

// maxKey is how many bytes before a secret are searched for its name.
const maxKey = 64

// isBoundary reports whether form is not part of a longer word: where form begins or ends with
// a letter, digit or _, the neighbouring character is none of these.
func isBoundary(before, form, after string) bool {
	first, _ := utf8.DecodeRuneInString(form)
	last, _ := utf8.DecodeLastRuneInString(form)
	next, _ := utf8.DecodeRuneInString(after)
	previous, _ := utf8.DecodeLastRuneInString(before)
	return !(isWordRune(last) && isWordRune(next)) && (!(isWordRune(first) && isWordRune(previous)) || escapeEnds.MatchString(before[max(0, len(before)-3):]))
}

// escapeEnds matches an escape in a quoted text or a URL, whose letters do not belong to the
// next word: \nSECRET, %3ASECRET.
var escapeEnds = regexp.MustCompile(`(\\[abfnrtv]|%[0-9A-Fa-f]{2})$`)

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// credentials matches the credentials in a header, which a server may echo, or which come from a
// list of requests and so were unknown before the run.
var credentials = regexp.MustCompile(`(?i)\b(authorization:\s*|basic\s+|bearer\s+)((?:basic|bearer)\s+)?[A-Za-z0-9._~+/=-]{4,}`)

// HideCredentials hides credentials in texts that takt did not write: error samples and bodies.
func HideCredentials(s string) string {
	return credentials.ReplaceAllString(value.HidePassword(s), "${1}${2}"+takt.Redacted)
}

// Redacter is a flag value with a part that is never shown, whatever its content.
type Redacter interface{ Redact(value string) string }

// Hidden is the value of a flag as a shown command line has it, without secrets.
func Hidden(f any, text string) string {
	if f, ok := f.(Redacter); ok {
		return f.Redact(text)
	}
	return value.HidePassword(text)
}

// CommandLine is the command line without secrets. load is the command after --, with takt before it, as its report has
// it: secrets are hidden there. nil: not known.
func (e Env) CommandLine(load []string) []string {
	words := []string{"takt"}
	for _, word := range e.Args {
		if word == "--" {
			return append(append(words, word), load[min(1, len(load)):]...)
		}
		words = append(words, HideCredentials(word))
	}
	return words
}
