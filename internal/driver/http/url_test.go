package http

import (
	"net/url"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/pkg/takt"
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
		if u, err := httpreq.RequestURL(base, text); err != nil || u.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, u, err, want)
		}
	}
	for _, text := range []string{"ftp://x/", "http://", "http:///a"} {
		if u, err := httpreq.RequestURL(base, text); err == nil {
			t.Errorf("%s: %v", text, u)
		}
	}
	for text, want := range map[string]string{
		"mailto:a": "has the scheme mailto and no host", "http:a": "did you mean http://a?", "HTTPS:/a": "did you mean https://a?", "mailto:a?u=http://x": "has no host",
	} {
		for _, on := range []*url.URL{base, nil} {
			if u, err := httpreq.RequestURL(on, text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s on %v: %v, %v; want %s", text, on, u, err, want)
			}
		}
	}
	for _, text := range []string{"/a", "//other/a", "?a"} {
		if u, err := httpreq.RequestURL(nil, text); err == nil {
			t.Errorf("%s without a base: %v", text, u)
		}
	}
	if u, err := httpreq.RequestURL(nil, "other:8080/a"); err != nil || u.Host != "other:8080" {
		t.Errorf("%v, %v", u, err)
	}
}

// A URL of a value is sent to a server that the scenario names, or not at all.
func TestLocate(t *testing.T) {
	base, _ := url.Parse("http://shop.test:80/")
	auth, _ := url.Parse("https://auth.test")
	for text, want := range map[string]string{
		"/a?u=http://x/": "/a?u=http://x/", "http://shop.test/a": "/a", "http://SHOP.test:80/a?b#c": "/a?b", "http://shop.test": "/", "http://shop.test?q": "/?q",
		"http://www.shop.test:8080/a": "/a", "//shop.test/a": "/a", "http://user:secret@shop.test/a": "/a", "http://shop.test//a": "//a",
		"https://auth.test:443/a": "auth /a", "https://user:x@auth.test": "auth /", "http://auth.test/a": "!", "https://auth.test.evil.test/": "!", "https://auth.test@evil.test/": "!",
		"https://shop.test/a": "!", "http://other.test/a": "!", "http://shop.test:81/a": "!", "//other.test/a": "!", "ftp://shop.test/": "!", "http://shop.test.evil.test/": "!",
	} {
		_, server, got, err := httpreq.Hosts{base, auth}.Locate(base, "www.shop.test:8080", text)
		if err == nil && server == auth {
			got = "auth " + got
		}
		if (err != nil) != (want == "!") || err == nil && got != want {
			t.Errorf("%s: %q, %v; want %s", text, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

// The zone of an IPv6 address is for this machine.
func TestZone(t *testing.T) {
	for host, want := range map[string]string{
		"[fe80::1%eth0]:8080": "[fe80::1]:8080", "[fe80::1%eth0]": "[fe80::1]", "fe80::1%eth0": "fe80::1", "[::1]:80": "[::1]:80", "a.test:80": "a.test:80",
	} {
		if got := httpreq.WithoutZone(host); got != want {
			t.Errorf("%s: %s", host, got)
		}
	}
	for _, c := range []bool{false, true} {
		o := New()
		if c {
			o.Targets = scenarioFile(t, "GET http://[fe80::1%25lo]:8080/a\n")
		}
		if faults := o.Validate([]string{"http://[fe80::1%25lo]:8080/"}); len(faults) > 0 {
			t.Fatal(faults)
		}
		m, err := o.requests.Message(new(takt.Op))
		if err != nil || m.Host != "[fe80::1]:8080" || httpreq.HostPort(m.URL) != "[fe80::1%lo]:8080" {
			t.Errorf("host %s, %s, %v", m.Host, httpreq.HostPort(m.URL), err)
		}
	}
}

// A target has one host: in its URL, which may be without a scheme, and one Host header.
func TestHostsOfTargets(t *testing.T) {
	for text, want := range map[string]string{
		`{"method":"GET","url":"127.0.0.1:8080/a"}`:                                  "127.0.0.1:8080",
		`{"method":"GET","url":"/a","header":{"Host":["a.test"]}}`:                   "a.test",
		"GET 127.0.0.1:8080/a\nhost: a.test\n":                                       "a.test",
		"127.0.0.1:8080/a\n":                                                         "127.0.0.1:8080",
		`{"method":"GET","url":"/a","header":{"Host":["a.test","b.test"]}}`:          "",
		`{"method":"GET","url":"/a","header":{"host":["a.test"],"Host":["b.test"]}}`: "",
		"GET /a\nHost: a.test\nHOST: a.test\n":                                       "",
		`{"method":"GET","url":"/a","header":{"Host":[""]}}`:                         "",
	} {
		o := New()
		o.Targets = scenarioFile(t, text)
		faults := o.Validate([]string{"http://127.0.0.1:1/"})
		if (len(faults) > 0) != (want == "") || want != "" && o.list.first.Sends.Host != want {
			t.Errorf("%s: %v", text, faults)
		}
	}
}

// A list is sent as it is written, with its braces. What can only be a placeholder is refused.
func TestBracesInLists(t *testing.T) {
	o := New()
	o.Targets = scenarioFile(t, `GET /a{{file "users.txt"}}`)
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) != 1 || !strings.Contains(faults[0].Error(), "--scenario") {
		t.Errorf("%v", faults)
	}
	o.Targets = scenarioFile(t, "GET /a/{{.Seq}}?b={{uuid}}\n\n"+`{"method":"GET","url":"http://127.0.0.1:1/{{x}}#f"}`+"\n\nGET /plain/ü\n")
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) > 0 {
		t.Fatal(faults)
	}
	var got []string
	for _, f := range o.list.kept {
		got = append(got, f.Sends.Target)
	}
	if text := strings.Join(got, " "); text != "/a/{{.Seq}}?b={{uuid}} /{{x}} /plain/%C3%BC" {
		t.Errorf("%s", text)
	}
}
