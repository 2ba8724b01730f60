package tlsflags_test

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/tlsflags"
)

// openSSLNames are those that openssl ciphers -stdname shows.
var openSSLNames = map[string]string{
	"TLS_RSA_WITH_RC4_128_SHA":                      "RC4-SHA",
	"TLS_RSA_WITH_3DES_EDE_CBC_SHA":                 "DES-CBC3-SHA",
	"TLS_RSA_WITH_AES_128_CBC_SHA":                  "AES128-SHA",
	"TLS_RSA_WITH_AES_256_CBC_SHA":                  "AES256-SHA",
	"TLS_RSA_WITH_AES_128_CBC_SHA256":               "AES128-SHA256",
	"TLS_RSA_WITH_AES_128_GCM_SHA256":               "AES128-GCM-SHA256",
	"TLS_RSA_WITH_AES_256_GCM_SHA384":               "AES256-GCM-SHA384",
	"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA":              "ECDHE-ECDSA-RC4-SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA":          "ECDHE-ECDSA-AES128-SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA":          "ECDHE-ECDSA-AES256-SHA",
	"TLS_ECDHE_RSA_WITH_RC4_128_SHA":                "ECDHE-RSA-RC4-SHA",
	"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA":           "ECDHE-RSA-DES-CBC3-SHA",
	"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA":            "ECDHE-RSA-AES128-SHA",
	"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA":            "ECDHE-RSA-AES256-SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256":       "ECDHE-ECDSA-AES128-SHA256",
	"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256":         "ECDHE-RSA-AES128-SHA256",
	"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256":         "ECDHE-RSA-AES128-GCM-SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256":       "ECDHE-ECDSA-AES128-GCM-SHA256",
	"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384":         "ECDHE-RSA-AES256-GCM-SHA384",
	"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384":       "ECDHE-ECDSA-AES256-GCM-SHA384",
	"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256":   "ECDHE-RSA-CHACHA20-POLY1305",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
}

// All suites that Go has for TLS 1.2 are known by both names, in any case; those of TLS 1.3 are refused.
func TestCipherSuiteNames(t *testing.T) {
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		var c tlsflags.CipherSuites
		other, known := openSSLNames[s.Name]
		if s.SupportedVersions[0] == tls.VersionTLS13 {
			if err := c.Set(s.Name); err == nil || !strings.Contains(err.Error(), "does not let a client choose the suites of TLS 1.3") {
				t.Errorf("%s: %v", s.Name, err)
			}
			continue
		}
		if !known {
			t.Errorf("the test has no OpenSSL name of %s", s.Name)
		}
		for _, name := range []string{s.Name, other, strings.ToLower(other)} {
			if err := c.Set(name); err != nil || c.String() != s.Name {
				t.Errorf("%s: %v, %v", name, c.String(), err)
			}
		}
	}
}

func TestCipherSuiteList(t *testing.T) {
	const rsa, ecdsa = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
	for text, want := range map[string]string{
		rsa + "," + ecdsa: rsa + "," + ecdsa,
		"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256": ecdsa + "," + rsa,
		" " + rsa + " , " + rsa:                rsa,
		"":                                     "",
		",:":                                   "",
		"AES":                                  "",
		"HIGH":                                 "",
		rsa + ",RSA-WITH-AES128-SHA":           "",
		rsa + ",TLS_CHACHA20_POLY1305_SHA256":  "",
		"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA25": "",
	} {
		var c tlsflags.CipherSuites
		if err := c.Set(text); (err != nil) != (want == "") || c.String() != want {
			t.Errorf("%q: %s, %v", text, c.String(), err)
		}
	}
	for _, name := range new(tlsflags.CipherSuites).Choices() {
		if err := new(tlsflags.CipherSuites).Set(name); err != nil {
			t.Errorf("offered, and refused: %v", err)
		}
	}
}
