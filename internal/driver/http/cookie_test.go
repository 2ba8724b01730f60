package http_test

import (
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
)

// takt keeps no cookies, also not between the hops of a redirect. A cookie of -H goes to each hop
// on the host of the URL, and to no other host.
func TestCookies(t *testing.T) {
	other := startEcho(t, nil)
	e := startEcho(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.SetCookie(w, &nethttp.Cookie{Name: "session", Value: "1", Path: "/"})
		switch r.URL.Path {
		case "/here":
			nethttp.Redirect(w, r, "/end", nethttp.StatusFound)
		case "/there": // another host than 127.0.0.1
			nethttp.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), nethttp.StatusFound)
		}
	})
	sent := func(got []seen) (list []string) {
		for _, s := range got {
			list = append(list, s.Header.Get("Cookie"))
		}
		return list
	}
	both(t, func(t *testing.T, client string) {
		clean(t, load(t, options(client), 2, e.URL), 2)
		if got := sent(e.requests()); !slices.Equal(got, []string{"", ""}) {
			t.Errorf("%q", got)
		}
	})
	for path, want := range map[string]struct{ own, other []string }{
		"/here":  {[]string{"a=b", "a=b"}, nil},
		"/there": {[]string{"a=b"}, []string{""}},
	} {
		o := options("auto")
		o.Redirects = 3
		if err := o.Header.Set("Cookie: a=b"); err != nil {
			t.Fatal(err)
		}
		clean(t, load(t, o, 1, e.URL+path), 1)
		if own, there := sent(e.requests()), sent(other.requests()); !slices.Equal(own, want.own) || !slices.Equal(there, want.other) {
			t.Errorf("%s: %q, %q", path, own, there)
		}
	}
}
