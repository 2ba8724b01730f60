package loadcmd

import "strings"

// trust adds, to an error about an untrusted certificate, the flags that make the command trust
// it. It searches the text, because clients of brokers pass such errors on as text.
func (l *load) trust(text string) string {
	if !strings.Contains(text, "failed to verify certificate") {
		return text
	}
	for _, flags := range [][2]string{{"cacert", "insecure"}, {"tls-ca-cert", "tls-insecure-skip-verify"}} {
		if l.flags.Lookup(flags[0]) != nil {
			return text + "; trust the authority that signed it with --" + flags[0] + " FILE, or any certificate with --" + flags[1]
		}
	}
	return text
}
