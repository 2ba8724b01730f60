package payload

import (
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestDate(t *testing.T) {
	at := time.Date(2026, 3, 9, 14, 5, 6, 7_000_000, time.UTC)
	for text, want := range map[string]string{
		`{{date "%Y-%m-%dT%H:%M:%S.%LZ"}}`: "2026-03-09T14:05:06.007Z", `{{date "%F %T" +24h}}`: "2026-03-10 14:05:06", `{{date "%s" -1m}}`: "1773065046",
		`{{date "%e %b %B %a %A %y %j %I%p %z 100%%" "+1d"}}`: "10 Mar March Tue Tuesday 26 069 02PM +0000 100%", `{{date "x" 30}}`: "x",
	} {
		tmpl, err := new(Env).Parse("url", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(tmpl.parts[0].(date).at(nil, at)); got != want || len(got) > tmpl.MaxLen() {
			t.Errorf("%s: %q of at most %d bytes, want %q", text, got, tmpl.MaxLen(), want)
		}
	}
	for _, text := range []string{`{{date}}`, `{{date %Y}}`, `{{date "%Q"}}`, `{{date "%"}}`, `{{date "%Y" soon}}`, `{{date "%Y" 1d 2d}}`} {
		if _, err := new(Env).Parse("url", text); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// The values are those of RFC 4231, test case 2, and of RFC 2202 for SHA-1.
func TestHMAC(t *testing.T) {
	keys := fstest.MapFS{"key": {Data: []byte("Jefe\n")}, "empty": {Data: []byte("\n")}, "long": {Data: make([]byte, maxKey+1)}}
	env := Env{Open: func(path string) (io.ReadCloser, error) { return keys.Open(path) }}
	for text, want := range map[string]string{
		`{{hmac sha256 "key" "what do ya want for nothing?"}}`:        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
		`{{hmac sha1 "key" "what do ya want for nothing?"}}`:          "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
		`{{hmac sha256/base64 "key" "what do ya want for nothing?"}}`: "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=",
		`{{url hmac sha256/base64 "key" .Seq}}`:                       "z0IyG7z96ztwGRHOXyf1UgT4xRgZu%2FSTaUNo9dJ3whk%3D",
	} {
		tmpl, err := env.Parse("url", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(tmpl.Append(nil, 7)); !strings.Contains(text, ".Seq") && got != want || len(got) > tmpl.MaxLen() || strings.Contains(text, ".Seq") && !strings.HasSuffix(got, "%3D") {
			t.Errorf("%s: %q", text, got)
		}
	}
	for _, text := range []string{`{{hmac}}`, `{{hmac sha256 "key"}}`, `{{hmac md5 "key" "x"}}`, `{{hmac sha256/hex "key" "x"}}`, `{{hmac sha256 "no" "x"}}`, `{{hmac sha256 "empty" "x"}}`, `{{hmac sha256 "long" "x"}}`} {
		if _, err := env.Parse("url", text); err == nil || strings.Contains(err.Error(), "Jefe") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
