package loadcmd

import (
	"slices"
	"strings"
)

// unreached are the ends of errors about targets that cannot be reached, and what to do.
func unreached() [][2]string {
	return [][2]string{
		{"connection refused", "nothing listens there: start the server, or correct the port"},
		{"no such host", "correct the host name"},
		{"first record does not look like a TLS handshake", "the port speaks no TLS: write http:// for plain HTTP, or correct the port"},
		{"i/o timeout", "the host does not answer, or the server accepts no more connections: correct the address, look for a firewall between, or whether the server hangs"},
		{"tls: handshake failure", "no common version of TLS or cipher suite, or the server demands a client certificate"},
		{"tls: protocol version not supported", "the server does not accept the versions of TLS that takt offers"},
		{"network is unreachable", "this host has no route there: correct the address"},
	}
}

// reach adds what to do to an error about a target that cannot be reached.
func reach(text string) string {
	if !strings.HasPrefix(text, "cannot reach the target: ") {
		return text
	}
	for _, u := range unreached() {
		if strings.HasSuffix(text, u[0]) {
			return text + "; " + u[1]
		}
	}
	return text
}

// identify adds, to an error of a server that ends the handshake because of the client's certificate,
// the flags of that certificate.
func (l *load) identify(text string) string {
	if !strings.HasSuffix(text, "tls: certificate required") && !strings.HasSuffix(text, "tls: bad certificate") {
		return text
	}
	for _, flags := range [][2]string{{"cert", "key"}, {"tls-cert-file", "tls-key-file"}} {
		if l.flags.Lookup(flags[0]) != nil {
			return text + "; the server demands a client certificate that it accepts: give one with --" + flags[0] + " FILE and its key with --" + flags[1] + " FILE"
		}
	}
	return text
}

// trust adds, to an error about an untrusted certificate, the flags that make the command trust
// it. It searches the text, because clients of brokers pass such errors on as text.
func (l *load) trust(text string) string {
	if !strings.Contains(text, "failed to verify certificate") {
		return text
	}
	for _, flags := range [][2]string{{"cacert", "insecure"}, {"tls-ca-cert", "tls-insecure-skip-verify"}} {
		f := l.flags.Lookup(flags[0])
		if f == nil {
			continue
		}
		anyway := ", or trust any certificate with --" + flags[1]
		switch {
		case isOtherName(text):
			return text + "; write a host that the certificate names" + l.otherRoute() + anyway
		case strings.Contains(text, "has expired or is not yet valid"):
			return text + "; renew the certificate, or correct this machine's clock" + anyway
		case f.Value.String() != "":
			return text + "; none of the authorities in " + f.Value.String() + " has signed it: correct --" + flags[0] + anyway
		}
		return text + "; trust the authority that signed it with --" + flags[0] + " FILE, or any certificate with --" + flags[1]
	}
	return text
}

// isOtherName reports whether the certificate in the error is of another host, whoever signed it.
func isOtherName(text string) bool {
	return slices.ContainsFunc([]string{"certificate is valid for ", "certificate is not valid for any names", "doesn't contain any IP SANs", "relies on legacy Common Name"},
		func(words string) bool { return strings.Contains(text, words) })
}

// otherRoute is how to connect elsewhere than to the host of the URL.
func (l *load) otherRoute() string {
	if l.flags.Lookup("connect-to") == nil {
		return ""
	}
	return " (--connect-to connects to another address nevertheless)"
}
