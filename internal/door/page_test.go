package door

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Nobody's browser sends a request for a page of another site, and a server without tokens believes neither
// a name that leads here nor a proxy.
func TestFromPage(t *testing.T) {
	for _, c := range []struct {
		method, host string
		headers      []string
		tokens       int // the status with tokens, and without
		none         int
	}{
		{"GET", "127.0.0.1:8235", nil, 0, 0},
		{"GET", "localhost", []string{"X-Other: 1"}, 0, 0},
		{"GET", "[::1]:8235", nil, 0, 0},
		{"GET", "", nil, 0, 421},
		{"GET", "evil.example", nil, 0, 421},
		{"GET", "localhost.evil.example", nil, 0, 421},
		{"GET", "127.0.0.1.evil.example:8235", nil, 0, 421},
		{"GET", "localhost.", nil, 0, 421},
		{"GET", "0.0.0.0:8235", nil, 0, 421},
		{"GET", "127.0.0.1", []string{"X-Forwarded-For: 127.0.0.1"}, 0, 421},
		{"GET", "127.0.0.1", []string{"X-Forwarded-Host: 127.0.0.1"}, 0, 421},
		{"GET", "127.0.0.1", []string{"x-forwarded-proto: https"}, 0, 421},
		{"GET", "127.0.0.1", []string{"X-Real-IP: 127.0.0.1"}, 0, 421},
		{"GET", "127.0.0.1", []string{"Forwarded: for=127.0.0.1"}, 0, 421},
		{"GET", "127.0.0.1", []string{"Via: 1.1 x"}, 0, 421},
		{"GET", "127.0.0.1", []string{"CF-Connecting-IP: 127.0.0.1"}, 0, 421},
		{"GET", "127.0.0.1", []string{"HTTP/1.0", "Connection: close"}, 0, 421},

		{"POST", "127.0.0.1:1", []string{"Origin: http://127.0.0.1:1"}, 0, 0},
		{"POST", "127.0.0.1:1", []string{"Origin: http://127.0.0.1:1", "Sec-Fetch-Site: same-origin"}, 0, 0},
		{"POST", "public.example", []string{"Origin: https://public.example", "Sec-Fetch-Site: same-origin"}, 0, 421}, // behind a proxy with TLS
		{"POST", "127.0.0.1:1", []string{"Origin: https://127.0.0.1:1"}, 403, 403},
		{"POST", "127.0.0.1:1", []string{"Origin: http://127.0.0.1:1", "Origin: http://evil.example"}, 403, 403},
		{"POST", "127.0.0.1:1", []string{"Origin: http://127.0.0.1:1", "Sec-Fetch-Site: cross-site"}, 403, 403},
		{"GET", "127.0.0.1:1", []string{"Origin: http://evil.example"}, 403, 403},
		{"GET", "127.0.0.1:1", []string{"Origin: null"}, 403, 403},
		{"GET", "127.0.0.1:1", []string{"Origin:"}, 403, 403},
		{"GET", "127.0.0.1:1", []string{"Sec-Fetch-Site: none"}, 0, 0},
		{"GET", "127.0.0.1:1", []string{"Sec-Fetch-Site: same-site"}, 403, 403},
		{"GET", "127.0.0.1:1", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, 403, 403},
		{"GET", "127.0.0.1:1", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 403, 403},
		{"GET", "127.0.0.1:1", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 0, 0},
		{"POST", "127.0.0.1:1", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 403, 403},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		r.Host = c.host
		for _, h := range c.headers {
			name, text, header := strings.Cut(h, ":")
			if !header {
				r.Proto, r.ProtoMajor, r.ProtoMinor = name, 1, 0
				continue
			}
			r.Header.Add(name, strings.TrimSpace(text))
		}
		for tokens, want := range map[bool]int{true: c.tokens, false: c.none} {
			if status, err := FromPage(r, tokens); status != want || (err != nil) != (want != 0) {
				t.Errorf("%s %q %q, tokens %v: %d, %v; want %d", c.method, c.host, c.headers, tokens, status, err, want)
			}
		}
	}
}

// Over TLS the origin of the server's own pages begins with https.
func TestFromPageOverTLS(t *testing.T) {
	for origin, want := range map[string]int{"https://127.0.0.1:1": 0, "http://127.0.0.1:1": http.StatusForbidden} {
		r := httptest.NewRequest(http.MethodPost, "https://127.0.0.1:1/", nil)
		r.Header.Set("Origin", origin)
		if status, err := FromPage(r, false); status != want {
			t.Errorf("%s: %d, %v", origin, status, err)
		}
	}
}
