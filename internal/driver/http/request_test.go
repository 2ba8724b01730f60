package http_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/pkg/takt"
)

func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What the flags of a request make of it.
func TestRequest(t *testing.T) {
	e := startEcho(t, nil)
	both(t, func(t *testing.T, client string) {
		o := options(client)
		o.Method, o.Body, o.ContentType, o.Accept, o.UserAgent, o.Host = "put", "data", "text/x", "a/b", "me/1", "example.org"
		if err := o.Header.Set("X-One: 1"); err != nil {
			t.Fatal(err)
		}
		clean(t, load(t, o, 1, e.URL+"/a?b=c"), 1)
		got := e.requests()[0]
		if got.Method != "PUT" || got.URI != "/a?b=c" || got.Host != "example.org" || got.Body != "data" {
			t.Errorf("%+v", got)
		}
		for name, want := range map[string]string{"Content-Type": "text/x", "Accept": "a/b", "User-Agent": "me/1", "X-One": "1", "Accept-Encoding": "gzip"} {
			if v := got.Header.Get(name); v != want {
				t.Errorf("%s is %q, want %q", name, v, want)
			}
		}
	})
}

func TestBodyFromFileAndStdin(t *testing.T) {
	e := startEcho(t, nil)
	both(t, func(t *testing.T, client string) {
		o := options(client)
		o.Method, o.BodyFile = "POST", write(t, "body", "{{not a template\n")
		clean(t, load(t, o, 1, e.URL), 1)
		o = options(client)
		o.Method, o.BodyFile, o.Stdin = "POST", "-", strings.NewReader("from stdin")
		clean(t, load(t, o, 2, e.URL), 2)
		got := e.requests()
		if got[0].Body != "{{not a template\n" || got[1].Body != "from stdin" || got[2].Body != "from stdin" {
			t.Errorf("%+v", got)
		}
	})
}

// Credentials come from the value, a file or the URL, and are known as secrets.
func TestCredentials(t *testing.T) {
	e := startEcho(t, nil)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:tiger"))
	for name, c := range map[string]struct {
		credentials httpreq.Credentials
		user, want  string
	}{
		"basic":       {httpreq.Credentials{Basic: "ann:tiger"}, "", basic},
		"basic file":  {httpreq.Credentials{BasicFile: write(t, "basic", "ann:tiger\n")}, "", basic},
		"bearer":      {httpreq.Credentials{Bearer: "tiger"}, "", "Bearer tiger"},
		"bearer file": {httpreq.Credentials{BearerFile: write(t, "token", "tiger\r\n")}, "", "Bearer tiger"},
		"url":         {httpreq.Credentials{}, "ann:tiger@", basic},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, client string) {
				o := options(client)
				o.Credentials = c.credentials
				clean(t, load(t, o, 1, strings.Replace(e.URL, "://", "://"+c.user, 1)), 1)
				if got := e.requests()[0].Header.Get("Authorization"); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
				if secrets := strings.Join(o.Secrets(), " "); !strings.Contains(secrets, "tiger") {
					t.Errorf("the secrets are %q", secrets)
				}
			})
		})
	}
}

// sparse is a file of n bytes that takes no room.
func sparse(t *testing.T, n int64) (path string) {
	t.Helper()
	path = write(t, "sparse", "")
	if err := os.Truncate(path, n); err != nil {
		t.Fatal(err)
	}
	return path
}

// Credentials are no templates, and what is wrong with them is said without them.
func TestCredentialsAreLiteral(t *testing.T) {
	e := startEcho(t, nil)
	both(t, func(t *testing.T, client string) {
		for _, path := range []string{"/", "/{{.Seq}}"} {
			o := options(client)
			o.Credentials.Bearer = "a{{.Seq}}{{b{{"
			clean(t, load(t, o, 1, e.URL+path), 1)
			if got := e.requests()[0].Header.Get("Authorization"); got != "Bearer a{{.Seq}}{{b{{" {
				t.Errorf("%s: %q", path, got)
			}
		}
	})
	for name, change := range map[string]func(o *http.Options) error{
		"bearer":    func(o *http.Options) error { return o.Credentials.Bearer.Set("tok\x01SECRET") },
		"basic":     func(o *http.Options) error { return o.Credentials.Basic.Set("{{SECRET") },
		"header":    func(o *http.Options) error { return o.Header.Set("Authorization: Bearer tok\x01SECRET") },
		"a brace":   func(o *http.Options) error { return o.Header.Set("Authorization: Bearer {{SECRET}}") },
		"of cookie": func(o *http.Options) error { return o.Header.Set("Cookie: a={{SECRET") },
	} {
		o := options("auto")
		if err := change(o); err != nil {
			t.Fatal(err)
		}
		if faults := o.Validate([]string{"http://x/"}); len(faults) != 1 || strings.Contains(faults[0].Error(), "SECRET") {
			t.Errorf("%s: %v", name, faults)
		}
	}
}

// Both clients send a target as it stands, and no header of their own.
func TestBothSendTheSame(t *testing.T) {
	e := startEcho(t, nil)
	both(t, func(t *testing.T, client string) {
		for _, path := range []string{"/a/../b//c", "//x/.", "/%2e%2F", "/a?b=c|d?", "/a?", "/a/../{{.Seq}}", "/a|b{c}/{{.Seq}}?d|{e}"} {
			o := options(client)
			o.UserAgent = ""
			clean(t, load(t, o, 1, e.URL+path), 1)
			got := e.requests()[0]
			if want := strings.ReplaceAll(path, "{{.Seq}}", "0"); got.URI != want {
				t.Errorf("%s became %s", want, got.URI)
			}
			if agent, is := got.Header["User-Agent"]; is {
				t.Errorf("User-Agent %q", agent)
			}
		}
		o := options(client)
		o.Targets = write(t, "targets", "GET /a/../b//c\nGET "+e.URL+"/./a\n")
		clean(t, load(t, o, 2, e.URL), 2)
		if got := e.requests(); got[0].URI != "/a/../b//c" || got[1].URI != "/./a" {
			t.Errorf("of a list: %s, %s", got[0].URI, got[1].URI)
		}
	})
}

// Random values differ between two headers of one name, and their seed is a variable.
func TestRandomHeaders(t *testing.T) {
	e := startEcho(t, nil)
	o := options("auto")
	for range 2 {
		if err := o.Header.Set("X-Id: {{uuid}}"); err != nil {
			t.Fatal(err)
		}
	}
	clean(t, load(t, o, 1, e.URL), 1)
	if id := e.requests()[0].Header.Values("X-Id"); len(id) != 2 || id[0] == id[1] {
		t.Errorf("%q", id)
	}
	if seed := o.Variables()["seed"]; seed != uint64(1) {
		t.Errorf("the seed is %v", seed)
	}
	for _, change := range []func(o *http.Options){
		func(o *http.Options) {}, func(o *http.Options) { o.Body = "{{.Seq}}" }, func(o *http.Options) { o.Targets = write(t, "one", "GET /") },
	} {
		o := options("auto")
		change(o)
		if faults := o.Validate([]string{"http://x/"}); faults != nil {
			t.Fatal(faults)
		}
		if seed, is := o.Variables()["seed"]; is {
			t.Errorf("nothing is random, but the seed is %v", seed)
		}
	}
	o = options("auto")
	o.Body = "{{randInt 1 9}}"
	if faults := o.Validate([]string{"http://x/"}); faults != nil || o.Variables()["seed"] != uint64(0) {
		t.Errorf("%v %v", faults, o.Variables())
	}
}

// Placeholders in the URL, in headers and in the body.
func TestPlaceholders(t *testing.T) {
	ids := write(t, "ids", "one\ntwo\nthree\n")
	e := startEcho(t, nil)
	both(t, func(t *testing.T, client string) {
		o := options(client)
		o.Method, o.Body = "POST", `{"n":{{.Seq}},"id":"{{file "`+ids+`"}}"}`
		if err := o.Header.Set(`X-Id: {{file "` + ids + `"}}-{{.Seq}}`); err != nil {
			t.Fatal(err)
		}
		clean(t, load(t, o, 4, e.URL+`/a/{{.Seq}}?r={{randInt 5 5}}`), 4)
		for i, got := range e.requests() {
			id := []string{"one", "two", "three", "one"}[i]
			n := string(rune('0' + i))
			if got.URI != "/a/"+n+"?r=5" || got.Header.Get("X-Id") != id+"-"+n || got.Body != `{"n":`+n+`,"id":"`+id+`"}` {
				t.Errorf("request %d: %+v", i, got)
			}
		}
	})
}

// Two braces that are no placeholder, and a body whose length changes.
func TestPlaceholdersAtTheEdge(t *testing.T) {
	e := startEcho(t, nil)
	both(t, func(t *testing.T, client string) {
		o := options(client)
		o.Method, o.Body = "POST", `{{"{{"}}x}}`
		clean(t, load(t, o, 1, e.URL), 1)
		if got := e.requests()[0].Body; got != "{{x}}" {
			t.Errorf("body %q", got)
		}
		o = options(client)
		o.Method, o.Body = "POST", "{{.Seq}}"
		clean(t, load(t, o, 12, e.URL), 12)
		if got := e.requests(); got[9].Body != "9" || got[10].Body != "10" || got[11].Body != "11" {
			t.Errorf("bodies %q %q %q", got[9].Body, got[10].Body, got[11].Body)
		}
	})
}

func TestFaults(t *testing.T) {
	spaced := write(t, "ids", "fine\nwith a space\n")
	for name, c := range map[string]struct {
		change func(o *http.Options)
		url    string
		want   string
	}{
		"no url":             {func(*http.Options) {}, "", "no url is given"},
		"two auths":          {func(o *http.Options) { o.Credentials.Basic, o.Credentials.Bearer = "a:b", "c" }, "http://x/", "several of --auth"},
		"no colon":           {func(o *http.Options) { o.Credentials.Basic = "a" }, "http://x/", "basic authentication has no colon"},
		"no auth file":       {func(o *http.Options) { o.Credentials.BearerFile = "/nowhere" }, "http://x/", "cannot read the credentials"},
		"both bodies":        {func(o *http.Options) { o.Body, o.BodyFile = "a", "b" }, "http://x/", "both -d and -D"},
		"placeholder":        {func(*http.Options) {}, "http://x/{{nope}}", "url: {{nope}}"},
		"placeholder host":   {func(*http.Options) {}, "http://{{.Seq}}/", `url "http://{{.Seq}}/" has a placeholder in its host`},
		"behind the port":    {func(*http.Options) {}, "http://127.0.0.1:8189{{.Seq}}", `url "http://127.0.0.1:8189{{.Seq}}" has a placeholder in its host`},
		"no scheme":          {func(*http.Options) {}, "example.com/", "did you mean http://example.com/?"},
		"bracket":            {func(*http.Options) {}, "http://[::1/", `url "http://[::1/": missing ']' in host`},
		"port":               {func(*http.Options) {}, "http://a:b/", `url "http://a:b/": invalid port ":b" after host`},
		"other scheme":       {func(*http.Options) {}, "ftp://x/", `url "ftp://x/" has the scheme ftp; use http or https`},
		"no host":            {func(*http.Options) {}, "http:///x", `url "http:///x" has no host`},
		"password":           {func(*http.Options) {}, "http://u:p/w@x/", `url "http://xxxxx@x/" cannot be read; in a user or password`},
		"password, no //":    {func(*http.Options) {}, "u:p/w@x/", `url "xxxxx@x/" has no http:// or https:// scheme and host; did you mean http://xxxxx@x/?`},
		"-H host {{":         {func(o *http.Options) { _ = o.Header.Set("host: {{.Seq}}") }, "http://x/", "the Host header has a placeholder"},
		"--host {{":          {func(o *http.Options) { o.Host = "{{.Seq}}" }, "http://x/", "the Host header has a placeholder"},
		"h2load's -m":        {func(o *http.Options) { o.Method = "10" }, "http://x/", "h2load's -m 10 is --h2 --h2-streams 10"},
		"h2-streams":         {func(o *http.Options) { o.HTTP2Streams = 2 }, "http://x/", "--h2-streams is given without --h2"},
		"h2-connections":     {func(o *http.Options) { o.HTTP2Connections = 2 }, "http://x/", "--h2-connections is given without --h2"},
		"redirects or not":   {func(o *http.Options) { o.Redirects, o.DisableRedirects = 3, true }, "http://x/", "both --redirects and --disable-redirects"},
		"targets and -m":     {func(o *http.Options) { o.Targets, o.Method = write(t, "one", "GET /"), "POST" }, "http://x/", "both -m and --targets"},
		"large body":         {func(o *http.Options) { o.BodyFile = sparse(t, 256<<20+1) }, "http://x/", "is larger than 268435456 bytes, the most that is held in memory; check -D"},
		"large credentials":  {func(o *http.Options) { o.Credentials.BearerFile = sparse(t, 64<<10+1) }, "http://x/", "is larger than 65536 bytes, the most that is held in memory; check --bearer-file"},
		"endless file":       {func(o *http.Options) { o.Credentials.BearerFile = "/dev/zero" }, "http://x/", "/dev/zero is larger than 65536 bytes"},
		"second header":      {func(o *http.Options) { _, _ = o.Header.Set("X: 1"), o.Header.Set("X: {{nope}}") }, "http://x/", "header X (2): {{nope}}: unknown placeholder"},
		"feeder line in url": {func(*http.Options) {}, `http://x/{{file "` + spaced + `"}}`, spaced + ":2"},
		"key alone":          {func(o *http.Options) { o.TLS.Key = "k" }, "https://x/", "--key is given without --cert"},
		"no certificate":     {func(o *http.Options) { o.TLS.Cert = "/nowhere" }, "https://x/", "cannot use the client certificate"},
		"own and h2":         {func(o *http.Options) { o.Client, o.HTTP2 = "own", true }, "https://x/", "--client own has no HTTP/2"},
		"own and redirects":  {func(o *http.Options) { o.Client, o.Redirects = "own", 1 }, "https://x/", "--client own has no redirects"},
		"negative redirects": {func(o *http.Options) { o.Redirects = -1 }, "http://x/", "--redirects is -1"},
		"two ways":           {func(o *http.Options) { o.UnixSocket = "/s"; _ = o.Proxy.Set("p:1") }, "http://x/", "more than one of --proxy"},
		"targets, none":      {func(o *http.Options) { o.Targets = write(t, "none", "# nothing\n\n") }, "", "no target in it"},
		"targets, no file":   {func(o *http.Options) { o.Targets = "/nowhere" }, "", "cannot read the targets"},
		"targets, {{":        {func(o *http.Options) { o.Targets = "/nowhere" }, "http://x/{{.Seq}}", "placeholders and --targets"},
	} {
		t.Run(name, func(t *testing.T) {
			o := http.New()
			c.change(o)
			var args []string
			if c.url != "" {
				args = []string{c.url}
			}
			faults := o.Validate(args)
			if len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), c.want) && !strings.Contains(faults[0].Error(), c.want) {
				t.Errorf("%v, want %s…", faults, c.want)
			}
		})
	}
}

// Whatever the placeholders are, a request costs no garbage.
func TestPlaceholdersDoNotAllocate(t *testing.T) {
	ids := write(t, "ids", "one\ntwo\nthree\n")
	for name, c := range map[string]struct{ url, header, body string }{
		"fixed":   {"http://x/", "X-A: b", "body"},
		"seq":     {"http://x/{{.Seq}}", "X-A: {{.Seq}}", "{{.Seq}}"},
		"feeder":  {`http://x/{{file "` + ids + `"}}`, `X-A: {{file "` + ids + `"}}`, `{{file "` + ids + `"}}`},
		"random":  {"http://x/{{randInt 1 100}}", "X-A: {{uuid}}", "{{randString 100}}"},
		"targets": {"", "", ""},
	} {
		o := options("own")
		o.Method, o.Body = "POST", c.body
		if name == "targets" {
			o.Method, o.Targets = "GET", write(t, "targets", "GET http://x/1\nGET http://x/2\n")
		} else if err := o.Header.Set(c.header); err != nil {
			t.Fatal(err)
		}
		args := []string{c.url}
		if c.url == "" {
			args = nil
		}
		if faults := o.Validate(args); faults != nil {
			t.Fatal(faults)
		}
		d, err := o.Open(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		codec, buf, op := d.Loop.Codec(0), make([]byte, 0, 4096), takt.Op{}
		if n := testing.AllocsPerRun(1000, func() { buf = codec.Append(buf[:0], &op); op.Seq++ }); n != 0 {
			t.Errorf("%s: %v allocations for each request", name, n)
		}
	}
}
