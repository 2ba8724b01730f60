package value

import (
	"regexp"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// password matches the password of a URL up to the last @, even in a URL that cannot be parsed,
// or whose password contains @ because a driver decoded %40. The first alternatives match colons
// that do not begin a password: of the scheme, of an IPv6 address and of a port.
var password = regexp.MustCompile(`://|\[[0-9A-Fa-f:.]+\]|:\d+[/?#]|:[^\s"]+@`)

// HidePassword hides the password of a URL in a text.
func HidePassword(s string) string {
	return password.ReplaceAllStringFunc(s, func(match string) string {
		if !strings.HasSuffix(match, "@") {
			return match
		}
		return ":" + takt.Redacted + "@"
	})
}
