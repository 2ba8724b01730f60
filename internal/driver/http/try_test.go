package http

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/driver/http/script"
)

// tried are the exchanges of the rounds of a scenario against a server, one a line.
func tried(t *testing.T, text string, h http.HandlerFunc) (lines []string, all []script.Tried, o *Options) {
	t.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	o = New()
	o.Scenario = scenarioFile(t, text)
	e := o.ShapeTrial()
	if faults := o.Validate([]string{s.URL}); len(faults) > 0 {
		t.Fatal(faults)
	}
	err := o.Try(context.Background(), e, nil, func(x script.Tried) {
		all = append(all, x)
		line := fmt.Sprintf("%d %d", x.Step, x.Result.Status)
		if x.Result.Class != "" {
			line += " " + x.Result.Class
		}
		for _, c := range x.Checks {
			line += fmt.Sprintf(", %s %v", c.Text, c.OK)
		}
		for _, c := range x.Captured {
			line += fmt.Sprintf(", %s=%s of %d", c.Name, c.Value, c.Of)
		}
		if x.Again {
			line += ", again"
		}
		if x.Passed != nil {
			line += fmt.Sprint(", passed ", x.Passed)
		}
		lines = append(lines, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, all, o
}

// A trial sends one round of each journey, as a run does, and shows each exchange.
func TestTry(t *testing.T) {
	polls := 0
	lines, all, o := tried(t, `POST /login
@journey buy 30
Content-Type: application/json
@body {"user":"ann","password":"geheim"}
@capture token json token
@capture ids all json items.#.id
@check status 200
@check json user == Ann

GET /item/{{id}}
Authorization: Bearer {{token}}
@repeat id in ids
@think 1h

GET /never
@when token == x

GET /job
@until json state == done
@poll 1ms 5

GET /missing
@optional
@check header X-Odd

GET /wrong
@check json user == Bob

GET /search
@journey look 70
`, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/login":
			w.Header().Set("Set-Cookie", "sid=geheim")
			fmt.Fprint(w, `{"token":"T","user":"Ann","items":[{"id":1},{"id":2}]}`)
		case "/job":
			if polls++; polls < 3 {
				fmt.Fprint(w, `{"state":"busy"}`)
				return
			}
			fmt.Fprint(w, `{"state":"done"}`)
		case "/missing":
			w.WriteHeader(404)
		default:
			fmt.Fprint(w, `{"user":"Ann"}`)
		}
	})
	want := []string{
		"1 200, status 200 true, json user == Ann true, token=T of 0, ids=1 of 2",
		"2 200, again", "2 200, passed [3]", "4 200, again", "4 200, again", "4 200", "5 404 4xx", "6 200 check, json user == Bob false", "7 200",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if x := all[1]; !strings.Contains(x.Request.Text(), "GET /item/1 HTTP/1.1\r\n") || !strings.Contains(x.Request.Text(), "Cookie: sid=geheim\r\n") || string(x.Answer.Body) != `{"user":"Ann"}` || !strings.HasPrefix(x.Answer.Line, "HTTP/1.1 200 OK") {
		t.Errorf("%+v", x)
	}
	var facts []string
	e := o.Explain(httpreq.HideSecrets)
	for _, j := range e.Journeys {
		facts = append(facts, fmt.Sprintf("%s %g", j.Name, j.Share))
		for _, s := range j.Steps {
			facts = append(facts, fmt.Sprintf("%d line %d %s", s.Number, s.Line, s.Request))
			for _, f := range s.Facts {
				facts = append(facts, f.What+": "+f.Text)
			}
		}
	}
	got := strings.Join(facts, "\n")
	for _, want := range []string{
		"buy 30\n1 line 1 POST /login", `"password":"xxxxx"`, "captures: the list ids from all of json items.#.id", "checks: json user == Ann",
		"Authorization: Bearer {{token}}", "needs: token, from step 1 (POST /login)", "needs: id, from the repetition", "repeats: for each id of ids", "waits: 1h before it",
		"only if: token == x", "until: json state == done", "asks again: 1ms after each answer, and at most this often: 5", "if it fails: the round goes on", "look 70\n7 line 29 GET /search",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the explanation has no %q:\n%s", want, got)
		}
	}
	if e.Counts != "rounds" || strings.Contains(got, "geheim") {
		t.Errorf("rate counts %s:\n%s", e.Counts, got)
	}
}

// A step without a value, and a server that is not there, are told and end the round.
func TestTryFails(t *testing.T) {
	lines, all, _ := tried(t, "GET /a\n@optional\n@capture x json x\n\nGET /{{x}}\n", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "{}") })
	if want := []string{"1 200 capture", "2 0 request"}; !slices.Equal(lines, want) || all[1].Request.Text() != "" {
		t.Errorf("%q, want %q; sent %q", lines, want, all[1].Request.Text())
	}
}

func TestHideSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"Authorization: Bearer abc\r\nAccept: */*":    "Authorization: xxxxx\r\nAccept: */*",
		"Authorization: Bearer {{token}}":             "Authorization: Bearer {{token}}",
		`Authorization: Basic {{base64 "a:b"}}`:       "Authorization: xxxxx",
		"GET /a?access_token=abc&b=c HTTP/1.1":        "GET /a?access_token=xxxxx&b=c HTTP/1.1",
		`{"password": "a\"b", "n": 1, "token":"x"}`:   `{"password": "xxxxx", "n": 1, "token":"xxxxx"}`,
		`{"password":"{{file "users.csv" 2}}"}`:       `{"password":"{{file "users.csv" 2}}"}`,
		"user=ann&pwd=geheim":                         "user=ann&pwd=xxxxx",
		"http://ann:geheim@h/":                        "http://ann:xxxxx@h/",
		"the tokens are here, and no password at all": "the tokens are here, and no password at all",
	} {
		if got := httpreq.HideSecrets(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// A trial performs @setup and @teardown once, around one round of each journey, and each redirect is an exchange.
func TestTryPhases(t *testing.T) {
	var other *httptest.Server
	other = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			http.Redirect(w, r, "/code", http.StatusFound)
			return
		}
		w.Header().Set("Content-Encoding", "br")
		z := brotli.NewWriter(w)
		defer z.Close()
		fmt.Fprint(z, `<input name=csrf value=C>`)
	}))
	defer other.Close()
	lines, all, o := tried(t, `X-Tenant: {{tenant}}

POST /tenants
@setup
@set name t-{{.Seq}}
@capture tenant json id

GET /ready
@setup
@until json ready == true
@poll 1ms 5

GET /none
@journey buy 30
@pace 1h
@when tenant == x

GET `+other.URL+`/login
@once
@follow
@capture csrf css input[name=csrf] attr value

GET /{{tenant}}/orders
@group page
@repeat page in 0..20 by 20
@capture id json orders.#(csrf=="{{csrf}}").id

POST /{{tenant}}/orders/{{id}}
@group page
@form at {{page}}
@form password two words
@when id == 7

GET /search
@journey look 70

DELETE /tenants/{{tenant}}
@teardown
`, func() http.HandlerFunc {
		asked := 0
		return func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/tenants":
				fmt.Fprint(w, `{"id":"T"}`)
			case r.URL.Path == "/ready":
				asked++
				fmt.Fprintf(w, `{"ready":%v}`, asked > 1)
			case r.URL.Path == "/T/orders":
				w.WriteHeader(http.StatusEarlyHints)
				fmt.Fprint(w, `{"orders":[{"csrf":"B","id":6},{"csrf":"C","id":7}]}`)
			}
		}
	}())
	want := []string{
		"1 200, tenant=T of 0, name=t-0 of 0", "2 200, again", "2 200",
		"4 302", "4 200, csrf=C of 0", "5 200, id=7 of 0", "6 200", "5 200, id=7 of 0", "6 200",
		"7 200", "8 200",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if len(all) == len(want) {
		if x := all[3]; !x.Follows || x.Again || !slices.Equal(x.Before, []int{3}) || !strings.Contains(x.Request.Text(), "GET /login HTTP/1.1") {
			t.Errorf("the redirect: %+v", x)
		}
		if x := all[4]; string(x.Answer.Body) != `<input name=csrf value=C>` || x.Follows || !strings.Contains(x.Request.Text(), "GET /code") || !all[0].Captured[1].Made {
			t.Errorf("behind the redirect: %+v", x)
		}
		if x := all[5]; !strings.HasPrefix(x.Answer.Line, "HTTP/1.1 200") || !strings.Contains(x.Request.Text(), "X-Tenant: T\r\n") {
			t.Errorf("behind an early hint: %+v", x)
		}
	}
	e := o.Explain(httpreq.HideSecrets)
	var facts []string
	for _, s := range slices.Concat(e.Setup, e.Journeys[0].Steps, e.Journeys[1].Steps, e.Teardown) {
		facts = append(facts, fmt.Sprintf("%d %s", s.Number, s.Request))
		for _, f := range s.Facts {
			facts = append(facts, f.What+": "+f.Text)
		}
	}
	got := strings.Join(facts, "\n")
	for _, want := range []string{
		"1 POST /tenants", "sets: name = t-{{.Seq}}", "4 GET " + other.URL + "/login", "once: with -c", "begins: a user's next round at the earliest 1h after", "follows: up to 10 redirects",
		"captures: csrf from css input[name=csrf] attr value", "needs: tenant, from step 1 (POST /tenants)", "needs: csrf, from step 4 (GET " + other.URL + "/login)", "is in: the group page",
		"repeats: for each page of 0..20 by 20", "needs: page, from the repetition of the group page", "needs: id, from step 5 (GET /{{tenant}}/orders)", "the field password: xxxxx", "8 DELETE /tenants/{{tenant}}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the explanation has no %q:\n%s", want, got)
		}
	}
	if len(e.Setup) != 2 || len(e.Teardown) != 1 || !slices.Equal(e.Hosts, []string{other.URL}) || !slices.Contains(e.Every, script.Fact{What: "sends", Text: "User-Agent: takt"}) || strings.Contains(got, "User-Agent") {
		t.Errorf("%+v", e)
	}
}

// All steps that the public scenarios have can be explained without a server.
func TestExplainPublicScenarios(t *testing.T) {
	list, _ := filepath.Glob("testdata/scenarios/*.txt")
	for _, name := range list {
		o := New()
		o.Scenario = name
		o.ShapeTrial()
		if faults := o.Validate([]string{"http://127.0.0.1/"}); len(faults) > 0 {
			t.Errorf("%s: %v", name, faults)
			continue
		}
		for _, j := range o.Explain(httpreq.HideSecrets).Journeys {
			for _, s := range j.Steps {
				if i := slices.IndexFunc(s.Facts, func(f script.Fact) bool { return f.What == "" || strings.HasSuffix(f.Text, "an earlier step") }); i >= 0 || len(s.Facts) == 0 && s.Request == "" {
					t.Errorf("%s: step %d: %v", name, s.Number, s.Facts)
				}
			}
		}
	}
	if len(list) != 10 {
		t.Errorf("%d scenarios", len(list))
	}
}

// An explanation says whether steps have random values, in whatever part.
func TestExplainRandom(t *testing.T) {
	for text, want := range map[string]bool{
		"GET /{{uuid}}\n": true, "GET /a\nX: {{randInt 1 2}}\n": true, "POST /a\n@body {{json uuid}}\n": true, "GET /a\n@set b {{randHex 4}}\n": true, "GET /a\n@setup\n@set b {{uuid}}\n\nGET /b\n": true,
		"GET /{{.Run}}/{{.Seq}}\nX: {{now}}\n": false, "GET /a\n@body {{file \"users.csv\"}}\n": false,
	} {
		o := New()
		o.Scenario = scenarioFile(t, text)
		if err := os.WriteFile(filepath.Join(filepath.Dir(o.Scenario), "users.csv"), []byte("ann\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if faults := o.Validate([]string{"http://127.0.0.1:1/"}); len(faults) > 0 {
			t.Fatal(faults)
		}
		if e := o.Explain(httpreq.HideSecrets); e.Random != want {
			t.Errorf("%q: random values: %v", text, e.Random)
		}
	}
}
