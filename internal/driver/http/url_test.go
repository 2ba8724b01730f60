package http

import (
	"net/url"
	"strings"
	"testing"
)

// What a URL of a request is: whole, a host with a port, or relative to the URL argument; whatever its query has.
func TestRequestURL(t *testing.T) {
	base, _ := url.Parse("http://127.0.0.1:8080/app/")
	for text, want := range map[string]string{
		"/a":                         "http://127.0.0.1:8080/a",
		"/go?url=https://x/a":        "http://127.0.0.1:8080/go?url=https://x/a",
		"?url=https://x/a":           "http://127.0.0.1:8080/app/?url=https://x/a",
		"http://other/a":             "http://other/a",
		"HTTPS://other/a?u=http://x": "https://other/a?u=http://x",
		"other:8080/a?u=http://x":    "http://other:8080/a?u=http://x",
		"127.0.0.1/a":                "http://127.0.0.1/a",
		"//other/a":                  "http://other/a",
		"a/b":                        "http://127.0.0.1:8080/app/a/b",
	} {
		if u, err := requestURL(base, text); err != nil || u.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, u, err, want)
		}
	}
	for _, text := range []string{"ftp://x/", "http://", "http:///a"} {
		if u, err := requestURL(base, text); err == nil {
			t.Errorf("%s: %v", text, u)
		}
	}
	for _, text := range []string{"/a", "//other/a", "?a"} {
		if u, err := requestURL(nil, text); err == nil {
			t.Errorf("%s without a base: %v", text, u)
		}
	}
	if u, err := requestURL(nil, "other:8080/a"); err != nil || u.Host != "other:8080" {
		t.Errorf("%v, %v", u, err)
	}
}

// A URL of a value is sent to the server of the scenario, or not at all.
func TestTargetOn(t *testing.T) {
	base, _ := url.Parse("http://shop.test:80/")
	for text, want := range map[string]string{
		"/a?u=http://x/": "/a?u=http://x/", "http://shop.test/a": "/a", "http://SHOP.test:80/a?b#c": "/a?b", "http://shop.test": "/", "http://shop.test?q": "/?q",
		"http://www.shop.test:8080/a": "/a", "//shop.test/a": "/a", "http://user:secret@shop.test/a": "/a", "http://shop.test//a": "//a",
		"https://shop.test/a": "!", "http://other.test/a": "!", "http://shop.test:81/a": "!", "//other.test/a": "!", "ftp://shop.test/": "!", "http://shop.test.evil.test/": "!",
	} {
		_, got, err := targetOn(base, "www.shop.test:8080", text)
		if (err != nil) != (want == "!") || err == nil && got != want {
			t.Errorf("%s: %q, %v; want %s", text, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}
