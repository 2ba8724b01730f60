package loadcmd

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// An error about a target that cannot be reached says what to do, with the flags that the command has.
func TestReachHints(t *testing.T) {
	const reached = "cannot reach the target: "
	for _, c := range []struct{ flags, text, want string }{
		{"cert", reached + "remote error: tls: bad certificate", "--cert FILE and its key with --key FILE"},
		{"cert", reached + "remote error: tls: certificate required", "--cert FILE and its key with --key FILE"},
		{"tls-cert-file", reached + "remote error: tls: certificate required", "--tls-cert-file FILE and its key with --tls-key-file FILE"},
		{"", reached + "remote error: tls: certificate required", ""},
		{"cert", reached + "remote error: tls: handshake failure", "no common version of TLS or cipher suite"},
		{"cert", reached + "remote error: tls: protocol version not supported", "the versions of TLS that takt offers"},
		{"cert", "the report: tls: handshake failure", ""},
	} {
		l := &load{flags: pflag.NewFlagSet("", pflag.ContinueOnError)}
		if c.flags != "" {
			l.flags.String(c.flags, "", "")
		}
		got := reach(l.identify(c.text))
		if hint := strings.TrimPrefix(got, c.text); c.want == "" && hint != "" || !strings.Contains(hint, c.want) {
			t.Errorf("%s, --%s: %q", c.text, c.flags, hint)
		}
	}
}
