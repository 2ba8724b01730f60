package http

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// journal is what servers were asked, and over which connections.
type journal struct {
	mu    sync.Mutex
	lines []string
	conns map[string]string // user of each connection
}

func (j *journal) note(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, text)
}

// A user has a connection to each host of its steps, sends each host the cookies of that host only, and follows a captured
// URL to another host of the file, but not to one that the file does not name.
func TestSeveralHosts(t *testing.T) {
	j := &journal{conns: map[string]string{}}
	server := func(name string, wants string, answers func(w http.ResponseWriter, user string)) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			user := q.URL.Query().Get("u")
			if c, err := q.Cookie("of"); err == nil {
				user = c.Value
			}
			j.mu.Lock()
			key := name + q.RemoteAddr
			if before, ok := j.conns[key]; ok && before != user {
				j.lines = append(j.lines, fmt.Sprintf("the connection %s of %s has %s, too", key, before, user))
			}
			j.conns[key] = user
			j.mu.Unlock()
			if got := q.Header.Get("Cookie"); !strings.HasPrefix(wants, "-") && got != strings.ReplaceAll(wants, "U", user) && !strings.Contains(q.URL.Path, "first") {
				j.note(fmt.Sprintf("%s%s has the cookies %q", name, q.URL.Path, got))
			}
			if here := q.Context().Value(http.LocalAddrContextKey).(fmt.Stringer).String(); strings.Replace(q.Host, "localhost", "127.0.0.1", 1) != here {
				j.note(fmt.Sprintf("%s%s has the host %s", name, q.URL.Path, q.Host))
			}
			if got := q.Header.Get("Authorization"); got != "" != (name == "shop") {
				j.note(fmt.Sprintf("%s%s has the authorization %q", name, q.URL.Path, got))
			}
			answers(w, user)
		}))
		t.Cleanup(s.Close)
		return s
	}
	var other *httptest.Server
	auth := server("auth", "of=U", func(w http.ResponseWriter, user string) {
		w.Header().Set("Set-Cookie", "of="+user+"; Path=/")
		w.Header().Set("Location", other.URL+"/welcome?u="+user)
		w.Header().Set("X-Relative", "/done?u="+user)
	})
	other = server("other", "", func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, "welcome") })
	asked := false
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(stranger.Close)

	// Cookies know no ports (RFC 6265, 8.5): the servers differ by the name of this machine.
	at := func(s *httptest.Server, host string) string { return strings.Replace(s.URL, "127.0.0.1", host, 1) }
	text := `POST AUTH/first?u={{.Seq}}
@capture next header Location
@capture then header X-Relative

GET {{next}}
@check body == welcome

GET AUTH{{then}}

GET /shop?u={{.Seq}}
`
	text = strings.ReplaceAll(text, "AUTH", at(auth, "localhost")) + "\nGET " + other.URL + "/?u={{.Seq}}\n"
	for _, flags := range []string{"--rate 500/s -n 100", "-c 5 -n 100"} {
		j.lines, j.conns = nil, map[string]string{}
		r := scenarioRun(t, flags+" --bearer secret", text, func(w http.ResponseWriter, q *http.Request) {
			if q.Header.Get("Authorization") != "Bearer secret" || q.Header.Get("Cookie") != "" {
				j.note(fmt.Sprint("shop: ", q.Header))
			}
			j.note("shop")
		})
		lines := slices.DeleteFunc(slices.Clone(j.lines), func(s string) bool { return s == "shop" })
		shop := len(j.lines)
		right := shop == 20 || strings.Contains(flags, "-c") && shop >= 16 && shop <= 21 // -n ends the rounds of 5 users at any step
		if r.Counts.OK != 100 || len(lines) > 0 || !right {
			t.Errorf("%s: %+v, %+v, %q", flags, r.Counts, r.Errors, j.lines)
		}
	}
	text = "GET " + at(auth, "localhost") + "/first?u=1\n\nGET {{next}}\n@when next\n"
	text = strings.Replace(text, "\n\n", "\n@capture next header Location\n\n", 1)
	other = stranger
	if r := scenarioRun(t, "-c 1 -n 2", text, func(http.ResponseWriter, *http.Request) {}); r.Counts.OK != 1 || len(r.Errors) != 1 || r.Errors[0].Class != classRequest || asked {
		t.Errorf("of a host that only an answer names: %+v, %+v, asked %v", r.Counts, r.Errors, asked)
	}
}

// Each host has its own name in TLS and in the Host header, and its own URL through a proxy. --host and credentials of the
// flags are for the first host only.
func TestNamesOfHosts(t *testing.T) {
	j := &journal{}
	note := func(_ http.ResponseWriter, q *http.Request) {
		name := ""
		if q.TLS != nil {
			name = q.TLS.ServerName
		}
		j.note(fmt.Sprint(q.RequestURI, " ", q.Host, " ", name, " ", q.Header["Authorization"], q.Header["Cookie"], q.Header["X-All"]))
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(note))
	t.Cleanup(secure.Close)
	proxy := httptest.NewServer(http.HandlerFunc(note))
	t.Cleanup(proxy.Close)
	const flags = "-c 1 -n 4 --host shop.test --bearer b -H Cookie:c=1 -H X-All:a "
	text := "GET /one\n\nGET https://auth.test/two\n\nGET https://ann:tiger@pay.test/three\nCookie: own=1\n\nGET http://shop.test/four\n"
	addr := secure.Listener.Addr().String()
	r := scenarioRun(t, flags+"--insecure --connect-to auth.test:443:"+addr+" --connect-to pay.test:443:"+addr, text, note)
	want := []string{"/one shop.test  [Bearer b] [c=1] [a]", "/two auth.test auth.test [] [] [a]", "/three pay.test pay.test [Basic YW5uOnRpZ2Vy] [own=1] [a]", "/four shop.test  [Bearer b] [c=1] [a]"}
	if !slices.Equal(j.lines, want) {
		t.Errorf("%q, %+v", j.lines, r.Errors)
	}
	if r.Extra["users"].(map[string]any)["connections_max"] != 3 {
		t.Errorf("%v", r.Extra["users"])
	}
	j.lines = nil
	r = scenarioRun(t, "-c 1 -n 1 -x "+proxy.URL, "GET http://auth.test/two\n", note)
	if want := []string{"http://auth.test/two auth.test  [] [] []"}; !slices.Equal(j.lines, want) {
		t.Errorf("%q, %+v", j.lines, r.Errors)
	}
}

// A host that cannot be reached ends the run before its start, whichever it is. Without an argument the steps say all hosts.
func TestHostsAreReachedFirst(t *testing.T) {
	asked := &journal{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { asked.note(q.URL.Path) }))
	t.Cleanup(s.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	for text, want := range map[string]string{"GET " + s.URL + "/a\n\nGET " + gone.URL + "/b\n": "connection refused", "GET " + s.URL + "/a\n\nGET " + s.URL + "/b\n": ""} {
		o := New()
		o.Scenario = scenarioFile(t, text)
		if faults := o.Validate(nil); len(faults) > 0 {
			t.Fatal(faults)
		}
		d, err := o.Open(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if err = d.Probe(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		_ = d.Close()
	}
	if len(asked.lines) > 0 {
		t.Errorf("%q", asked.lines)
	}
}
