package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// list is a repeatable flag.
type list []string

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

func (l *list) String() string { return strings.Join(*l, ",") }

// labels is a repeatable flag of NAME=VALUE.
type labels map[string]string

func (l *labels) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return fmt.Errorf("label %q has no name; write it as name=value", s)
	}
	if *l == nil {
		*l = labels{}
	}
	(*l)[name] = value
	return nil
}

func (l *labels) String() string {
	var parts []string
	for name, value := range *l {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// scrubber replaces every secret that the flags and the driver hold. At one place
// the first of the list wins, so the longest stands first: the end of a secret that
// begins with another one would be left.
func scrubber(fs *goFlagSet, holders ...any) *strings.Replacer {
	var secrets, pairs []string
	add := func(v any) {
		if s, ok := v.(takt.Secretive); ok {
			secrets = append(secrets, s.Secrets()...)
		}
	}
	fs.VisitAll(func(f *goFlag) { add(f.Value) })
	for _, h := range holders {
		add(h)
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range secrets {
		if secret != "" { // it is found before every character
			quoted := strconv.Quote(secret) // as an error may show it
			pairs = append(pairs, secret, takt.Redacted, quoted[1:len(quoted)-1], takt.Redacted)
		}
	}
	return strings.NewReplacer(pairs...)
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
