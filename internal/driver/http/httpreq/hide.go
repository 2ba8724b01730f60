package httpreq

import (
	"regexp"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/foreign"
	traffic "github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// credentialLines matches the header lines whose values must not be shown.
var credentialLines = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?mi)^((?:proxy-)?authorization|(?:set-)?cookie|x-amz-security-token|x-api-key|x-auth-token): ([^\r\n]*)`)
})

// HideHead is a head without its credentials, as a terminal shows it.
func HideHead(b []byte) string {
	return credentialLines().ReplaceAllString(foreign.Lines(string(b)), "$1: "+takt.Redacted)
}

// secretPairs matches NAME=VALUE, "NAME":"VALUE" and the like, with the names of passwords and tokens.
var secretPairs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)("?(?:\b|%5B)(?:` + strings.Join(traffic.TokenNames(), "|") + `)\b"?(?:\]|%5D)?\s*[:=]\s*)("(?:[^"\\]|\\.)*"?|[^&\s,;}"=][^&\s,;}"]*)`)
})

// onlyValue matches a credential that is a placeholder of a captured value, which is no secret.
var onlyValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z]+ )?\{\{[\w. ]+\}\}$`) })

// HideSecrets is a text without what looks like a password or a token: header lines, fields of forms and of JSON, and
// parameters of URLs. Placeholders stay.
func HideSecrets(text string) string {
	lines := strings.SplitAfter(value.HidePassword(text), "\n")
	for i, line := range lines {
		if m := credentialLines().FindStringSubmatch(line); m == nil {
			lines[i] = secretPairs().ReplaceAllStringFunc(line, hidePair)
		} else if !onlyValue().MatchString(strings.TrimSpace(m[2])) {
			lines[i] = m[1] + ": " + takt.Redacted + line[len(strings.TrimRight(line, "\r\n")):]
		}
	}
	return strings.Join(lines, "")
}

func hidePair(pair string) string {
	m := secretPairs().FindStringSubmatch(pair)
	switch {
	case strings.HasPrefix(strings.TrimPrefix(m[2], `"`), Placeholder):
		return pair
	case m[2][0] == '"':
		return m[1] + `"` + takt.Redacted + `"`
	}
	return m[1] + takt.Redacted
}

// IsSecretName reports whether a value of this name is taken for a password or a token.
func IsSecretName(name string) bool { return secretPairs().MatchString(name + "=x") }
