package tlsflags

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/value"
)

// CipherSuites is a list of cipher suites of TLS 1.2 as a flag. The zero value leaves the
// choice to crypto/tls.
type CipherSuites struct{ list []uint16 }

var errCipher13 = errors.New("crypto/tls does not let a client choose the suites of TLS 1.3; name suites of TLS 1.2, or leave --tls-ciphers out")

// Set implements flag.Value: names of IANA or OpenSSL, with commas or, as OpenSSL has it, colons
// between them.
func (c *CipherSuites) Set(s string) error {
	var list []uint16
	for _, name := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ':' }) {
		suite, err := cipherSuite(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		if !slices.Contains(list, suite) {
			list = append(list, suite)
		}
	}
	if len(list) == 0 {
		return errors.New("the list names no cipher suite; write such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
	}
	c.list = list
	return nil
}

// cipherSuite is the suite of TLS 1.2 with this name.
func cipherSuite(name string) (uint16, error) {
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		old := slices.Contains(s.SupportedVersions, tls.VersionTLS12)
		switch own := strings.EqualFold(name, s.Name); {
		case own && !old:
			return 0, fmt.Errorf("%s is a suite of TLS 1.3: %w", s.Name, errCipher13)
		case own, old && strings.EqualFold(name, openSSLName(s.Name)):
			return s.ID, nil
		}
	}
	return 0, fmt.Errorf("%.60q is not a cipher suite that crypto/tls has; write such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or ECDHE-RSA-AES128-GCM-SHA256", name)
}

// openSSLName is OpenSSL's name of the suite that IANA calls name.
func openSSLName(name string) string {
	return strings.TrimPrefix(strings.NewReplacer(
		"TLS_RSA_WITH_", "", "TLS_", "", "_WITH_", "-", "3DES_EDE_CBC", "DES-CBC3", "_CBC", "", "RC4_128", "RC4",
		"AES_128", "AES128", "AES_256", "AES256", "POLY1305_SHA256", "POLY1305", "_", "-",
	).Replace(name), "RSA-WITH-")
}

// Given reports whether there is a list.
func (c *CipherSuites) Given() bool { return len(c.list) > 0 }

// String implements flag.Value, with IANA's names.
func (c *CipherSuites) String() string {
	if c == nil {
		return ""
	}
	var names []string
	for _, id := range c.list {
		names = append(names, tls.CipherSuiteName(id))
	}
	return strings.Join(names, ",")
}

// Type implements value.Flag.
func (*CipherSuites) Type() string { return "list" }

// Names implements value.Flag: suites name nothing outside of takt.
func (*CipherSuites) Names(string) []value.Name { return nil }

// Choices implements value.Chooser: the suites that are not known to be weak.
func (*CipherSuites) Choices() (names []string) {
	for _, s := range tls.CipherSuites() {
		if slices.Contains(s.SupportedVersions, tls.VersionTLS12) {
			names = append(names, s.Name)
		}
	}
	return names
}
