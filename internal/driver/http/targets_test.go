package http_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
)

// Both formats of vegeta say the same.
func TestTargets(t *testing.T) {
	e := startEcho(t, nil)
	body := write(t, "body.json", `{"a":1}`)
	formats := map[string]string{
		"http": `# three requests
GET @URL/one
X-Header: 1
X-Header: 2
POST @URL/two?x=y

PUT @URL/three
Content-Type: application/json
# with its body
@` + body + `
`,
		"json": `{"method":"GET","url":"@URL/one","header":{"X-Header":["1","2"]}}
{"method":"POST","url":"@URL/two?x=y"}

{"method":"PUT","url":"@URL/three","body":"eyJhIjoxfQ==","header":{"Content-Type":["application/json"]}}
`,
	}
	for name, text := range formats {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, client string) {
				o := options(client)
				o.Targets = write(t, "targets", strings.ReplaceAll(text, "@URL", e.URL))
				if err := o.Header.Set("X-All: yes"); err != nil {
					t.Fatal(err)
				}
				clean(t, load(t, o, 4), 4)
				got := e.requests()
				for i, want := range []string{"GET /one ", "POST /two?x=y ", `PUT /three {"a":1}`, "GET /one "} {
					if s := got[i].Method + " " + got[i].URI + " " + got[i].Body; s != want || got[i].Header.Get("X-All") != "yes" {
						t.Errorf("request %d: %s, want %s; %v", i, s, want, got[i].Header)
					}
				}
				if h := got[0].Header.Values("X-Header"); len(h) != 2 || h[1] != "2" {
					t.Errorf("X-Header: %q", h)
				}
				if h := got[2].Header.Values("Content-Type"); len(h) != 1 || h[0] != "application/json" {
					t.Errorf("Content-Type: %q", h)
				}
			})
		})
	}
}

// Targets without a host take it from the URL, and the body of -d if they bring none.
func TestTargetsRelative(t *testing.T) {
	e := startEcho(t, nil)
	both(t, func(t *testing.T, client string) {
		o := options(client)
		o.Targets, o.Body = write(t, "targets", "POST /a\nGET /b\n"), "all"
		clean(t, load(t, o, 2, e.URL+"/base/"), 2)
		if got := e.requests(); got[0].URI != "/a" || got[1].URI != "/b" || got[0].Body != "all" {
			t.Errorf("%+v", got)
		}
	})
}

// A URL alone is a GET, and so is a path where a URL is given.
func TestTargetsArePlainURLs(t *testing.T) {
	e := startEcho(t, nil)
	both(t, func(t *testing.T, client string) {
		o := options(client)
		o.Targets = write(t, "urls.txt", strings.ReplaceAll("# a list\n@URL/a?x=1\n@URL/b\nX-B: 1\n/c\nPOST @URL/d\n@URL/e\n", "@URL", e.URL))
		clean(t, load(t, o, 5, e.URL), 5)
		var got []string
		for _, s := range e.requests() {
			got = append(got, s.Method+" "+s.URI+" "+s.Header.Get("X-B"))
		}
		if text := strings.Join(got, "|"); text != "GET /a?x=1 |GET /b 1|GET /c |POST /d |GET /e " {
			t.Error(text)
		}
	})
}

// Several hosts need net/http, which auto takes by itself.
func TestTargetsOnSeveralHosts(t *testing.T) {
	one, two := startEcho(t, nil), startEcho(t, nil)
	path := write(t, "targets", "GET "+one.URL+"/1\nGET "+two.URL+"/2\n")
	o := options("auto")
	o.Targets = path
	clean(t, load(t, o, 4), 4)
	if a, b := one.requests(), two.requests(); len(a) != 2 || len(b) != 2 || a[0].URI != "/1" || b[0].URI != "/2" {
		t.Errorf("%+v %+v", a, b)
	}
	o = options("own")
	o.Targets = path
	if faults := o.Validate(nil); len(faults) != 1 || !strings.Contains(faults[0].Error(), "targets on several hosts") {
		t.Error(faults)
	}
}

// What comes from stdin is read as the run goes and ends it.
func TestTargetsFromStdin(t *testing.T) {
	e := startEcho(t, nil)
	both(t, func(t *testing.T, client string) {
		o := options(client)
		o.Targets, o.Stdin = "-", strings.NewReader("GET /1\nGET /2\nGET /3\n")
		r := load(t, o, 10, e.URL)
		clean(t, r, 3)
		if got := e.requests(); len(got) != 3 || got[2].URI != "/3" {
			t.Errorf("%+v", got)
		}
	})
	o := options("auto") // without a url: the targets say where
	o.Targets, o.Stdin = "-", strings.NewReader("GET "+e.URL+"/1\n")
	clean(t, load(t, o, 10), 1)
}

// A file longer than what is kept is read again and again as the run goes.
func TestTargetsStreamed(t *testing.T) {
	e := startEcho(t, nil)
	both(t, func(t *testing.T, client string) {
		o := options(client)
		o.KeepTargets(1)
		o.Targets = write(t, "targets", strings.ReplaceAll("POST @URL/1\nGET @URL/2\nGET @URL/3\n", "@URL", e.URL))
		clean(t, load(t, o, 7), 7)
		var uris []string
		for _, s := range e.requests() {
			uris = append(uris, s.URI)
		}
		if got := strings.Join(uris, " "); got != "/1 /2 /3 /1 /2 /3 /1" {
			t.Error(got)
		}
	})
}

// Operation k has the same target whichever shard sends it, kept or streamed.
func TestTargetsOfShards(t *testing.T) {
	e := startEcho(t, nil)
	for _, from := range []string{"file", "streamed file", "stdin"} {
		for shard, want := range map[string]string{"1/2": "/0 /2 /4", "2/2": "/1 /3"} {
			text := "GET /0\nGET /1\nGET /2\nGET /3\nGET /4\n"
			o := options("auto")
			switch from {
			case "stdin":
				o.Targets, o.Stdin = "-", strings.NewReader(text)
			case "streamed file":
				o.KeepTargets(0)
				fallthrough
			default:
				o.Targets = write(t, "targets", text)
			}
			loadWith(t, o, engine.Options{Requests: 5, Connections: 1, Rate: engine.MustRate("1000"), Shard: engine.MustShard(shard)}, e.URL)
			var uris []string
			for _, s := range e.requests() {
				uris = append(uris, s.URI)
			}
			if got := strings.Join(uris, " "); got != want {
				t.Errorf("%s, shard %s: %s, want %s", from, shard, got, want)
			}
		}
	}
}

// A file may begin with the mark of an editor, and braces in a body file are no
// placeholders.
func TestTargetsAtTheEdge(t *testing.T) {
	e := startEcho(t, nil)
	o := options("auto")
	o.Targets, o.BodyFile = write(t, "targets", "\ufeffPOST /\n"), write(t, "body", "{{")
	clean(t, load(t, o, 1, e.URL), 1)
	if got := e.requests()[0]; got.Method != "POST" || got.Body != "{{" {
		t.Errorf("%+v", got)
	}
}

// Many small targets are kept as far as they fit into memory, not as far as they
// would fit on the wire.
func TestTargetsTakeRoom(t *testing.T) {
	for n, kept := range map[int]bool{12: true, 13: false} {
		o := options("auto")
		o.KeepTargets(10_000)
		o.Targets = write(t, "targets", strings.Repeat("GET http://127.0.0.1:1/\n", n))
		if faults := o.Validate(nil); faults != nil {
			t.Fatal(faults)
		}
		src, err := o.Source(t.Context(), nil)
		if err != nil || (src == nil) != kept {
			t.Errorf("%d targets: %v, %v, want kept %v", n, src, err, kept)
		}
	}
}

// Credentials of a list are secrets like any other.
func TestSecretsOfTargets(t *testing.T) {
	o := options("auto")
	o.Targets = write(t, "targets", `GET http://ann:hunter2@x/
Cookie: session
GET http://x/
Authorization: Bearer token
X-Count: 12345
GET http://ann:hunter2@x/
`)
	if faults := o.Validate(nil); faults != nil {
		t.Fatal(faults)
	}
	if got := strings.Join(o.Secrets(), " "); got != "Basic YW5uOmh1bnRlcjI= Bearer token YW5uOmh1bnRlcjI= hunter2 session token" {
		t.Error(got)
	}
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, "GET http://x/\nX-Api-Key: key-%d\n", i)
	}
	o.Targets = write(t, "targets", many.String())
	if faults := o.Validate(nil); faults != nil || len(o.Secrets()) != 1000 {
		t.Errorf("%v, %d secrets", faults, len(o.Secrets()))
	}
}

func TestTargetFaults(t *testing.T) {
	for text, want := range map[string]string{
		"GET http://x/\nnonsense\n":                                 ":2: the line that begins with \"nonsense\" is neither",
		"\n\nGET nowhere\n":                                         ":3: the line that begins with \"GET\" is not a target",
		"GET /path\n":                                               ":1: \"/path\" has no http:// or https://",
		"GET ftp://x/\n":                                            ":1: url \"ftp://x/\" has the scheme ftp",
		"POST http://x/\n@/nowhere\n":                               ":2: cannot read the body",
		"POST http://x/\nA: b\n@/dev/null\n@b\n":                    ":4: \"@b\" is a second body",
		"GET http://x/ HTTP/1.1\n":                                  ":1: url \"http://x/ HTTP/1.1\" has a space",
		"GET http://u:p/w@x/\nA: b\n":                               ":1: url \"http://xxxxx@x/\" cannot be read",
		"{\"method\":\"GET\",\"url\":\"http://x/a b\"}":             ":1: url \"http://x/a b\" has a space",
		"{\"method\":\"get\",\"url\":\"http://x/\"}":                ":1: method \"get\" is not in capitals; write GET",
		"{\"method\":\"GET\",\"url\":\"http://x/\",\"headers\":{}}": ":1: json: unknown field \"headers\"; a target is",
		"{\"method\":\"GET\",\"url\":\"http://x/\"} {}":             ":1: something follows the object",
		"GET http://x/\n" + strings.Repeat("a", 16<<20+1):           ":2: the line is longer than 16 MiB",
		"{\"method\":\"GET\"}\n":                                    ":1: a target needs method and url",
		"{\"method\":\n":                                            ":1: unexpected EOF",
		"GET http://x/\nX Y: 1\n":                                   ":2: header name \"X…\" is not a token: it has a space",
		"GET http://x/\nAuthorization tiger\n":                      ":2: the line that begins with \"Authorization\" is neither",
		"GET http://x/\n\nCookie: tiger\n":                          ":3: the line that begins with \"Cookie\" is not a target",
		"GET http://x/\ntiger1234tiger\n":                           ":2: the line is neither a header",
		"tiger1234tiger\n":                                          ":1: the line is not a target",
		"GET http://x/\n\nGET http://x/\nA:\x01":                    ":4: header A",
	} {
		o := http.New()
		o.Targets = write(t, "targets", text)
		faults := o.Validate(nil)
		if len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), o.Targets+want) || strings.Contains(faults[0].Error(), "tiger") {
			t.Errorf("%.60q: %v, want %s", text, faults, want)
		}
	}
	o := http.New()
	o.Targets = t.TempDir()
	if faults := o.Validate(nil); len(faults) != 1 || faults[0].Error() != "cannot read the targets: read "+o.Targets+": is a directory; check --targets" {
		t.Errorf("a folder: %v", faults)
	}
	// stdin is read as the run goes, so its faults end the run.
	e := startEcho(t, nil)
	o = options("auto")
	o.Targets, o.Stdin = "-", strings.NewReader("GET /1\nGET http://elsewhere/\nA: b\n")
	p := plan(t, o, engine.Options{Requests: 5, Connections: 1}, e.URL)
	r := run(t, p)
	clean(t, r, 1)
	if err := p.Source.(engine.Feed).Err(); err == nil || !strings.Contains(err.Error(), "stdin:2: http://elsewhere/ is not on the host of the url") {
		t.Error(err)
	}
}

// The check of a long list ends when somebody stops it, and says after a while what it does.
func TestCheckOfALongList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(path, bytes.Repeat([]byte("GET /\n"), 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	o := http.New()
	o.Targets = path
	o.Attend(stop, func(string) {})
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) > 0 {
		t.Fatal(faults)
	}
	close(stop)
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) != 1 || !strings.Contains(faults[0].Error(), "stopped") {
		t.Errorf("%v", faults)
	}
	var told []string
	http.TellAfter(t, 0)
	o.Attend(nil, func(text string) { told = append(told, text) })
	if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) > 0 || len(told) != 6 || !strings.Contains(told[2], "2000 targets so far") {
		t.Errorf("%v, %q", faults, told)
	}
}
