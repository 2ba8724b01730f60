package http

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// asked is a server that keeps what it is asked for, by path.
type asked struct {
	mu     sync.Mutex
	bodies map[string][]string
	conns  map[string]bool // that /login was asked for on
	answer func(w http.ResponseWriter, q *http.Request, n int)
}

func (a *asked) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bodies == nil {
		a.bodies = map[string][]string{}
	}
	if len(body) == 0 {
		body = []byte(q.URL.RawQuery)
	}
	a.bodies[q.URL.Path] = append(a.bodies[q.URL.Path], string(body))
	if a.answer != nil {
		a.answer(w, q, len(a.bodies[q.URL.Path]))
	}
}

// A value of @set is the same in all steps of a round and in each try of a step, and another one in each repetition and
// round.
func TestSet(t *testing.T) {
	const text = `POST /orders
@repeat n in 1..3
@retry 2 503 1ms
@set order {{n}}-{{uuid}}
@set both {{order}}/{{now}}
@body {{order}} {{both}}

GET /last?{{order}}
`
	for _, flags := range []string{"--rate 500/s -n 10", "-c 1 -n 50"} {
		s := &asked{answer: func(w http.ResponseWriter, q *http.Request, n int) {
			if q.URL.Path == "/orders" && n%2 == 1 {
				w.WriteHeader(503)
			}
		}}
		scenarioRun(t, flags, text, s.ServeHTTP)
		orders := s.bodies["/orders"]
		if len(orders) < 36 {
			t.Fatalf("%s: %q", flags, s.bodies)
		}
		known := map[string]bool{}
		if len(orders)%2 == 1 {
			orders = orders[:len(orders)-1] // the end of a closed loop
		}
		for i := 0; i < len(orders); i += 2 {
			if orders[i] != orders[i+1] && flags[1] == 'c' || known[orders[i]] && flags[1] == 'c' {
				t.Errorf("%s: %q then %q", flags, orders[i], orders[i+1])
			}
			known[orders[i]] = true
		}
		for _, last := range s.bodies["/last"] {
			if !strings.HasPrefix(last, "3-") || !slices.ContainsFunc(orders, func(o string) bool { return strings.HasPrefix(o, last+" "+last+"/") }) {
				t.Errorf("%s: %s is no order", flags, last)
			}
		}
	}
}

// So it is in a file whose rounds have all their steps due whatever the answers do.
func TestSetInFixedRounds(t *testing.T) {
	var s asked
	r := scenarioRun(t, "--rate 500/s -n 30 --seed 5", "POST /a\n@set order {{uuid}}\n@body {{order}}\n\nPOST /b\n@think 1ms..5ms\n@body {{order}}\n\nPOST /c\n@set order {{order}}!\n@body {{order}}\n", s.ServeHTTP)
	for _, list := range s.bodies {
		slices.Sort(list)
	}
	a, b, c := s.bodies["/a"], s.bodies["/b"], s.bodies["/c"]
	if len(slices.Compact(slices.Clone(a))) != 10 || !slices.Equal(a, b) || len(c) != 10 || c[0] != a[0]+"!" || r.Counts.OK != 30 || r.Extra["rounds"] != nil {
		t.Errorf("%q, %+v", s.bodies, r.Counts)
	}
}

// A variable of the environment is text as if it were written there.
func TestEnvironmentInSteps(t *testing.T) {
	t.Setenv("TAKT_STAGE", "x/y z")
	var s asked
	r := scenarioRun(t, "-c 1 -n 2", "POST /a/{{url env \"TAKT_STAGE\"}}\nX-Stage: {{env \"TAKT_STAGE\"}}\n@body {{env \"TAKT_STAGE\"}}\n", s.ServeHTTP)
	if got := s.bodies["/a/x/y z"]; r.Counts.OK != 2 || !slices.Equal(got, []string{"x/y z", "x/y z"}) {
		t.Errorf("%q, %+v", s.bodies, r.Errors)
	}
	t.Setenv("TAKT_STAGE", "a")
	wantNone := New()
	wantNone.Scenario = scenarioFile(t, "GET /{{env \"TAKT_STAGE\"}}\n")
	if faults := wantNone.Validate([]string{"http://127.0.0.1:1/"}); len(faults) > 0 {
		t.Error(faults)
	}
	t.Setenv("TAKT_STAGE", "a\r\nX-Evil: 1")
	wantFault(t, "GET /a\nX: {{env \"TAKT_STAGE\"}}\n", "scenario:1: header X: byte 2 of the value is a control character")
	wantFault(t, "GET /{{env \"TAKT_STAGE\"}}\n", "scenario:1: ")
	wantFault(t, "GET /a\n@body {{env \"TAKT_NONE\"}}\n", "scenario:2: step 1 body: {{env \"TAKT_NONE\"}}: the environment has no variable TAKT_NONE")
}

// What is before the load is performed once, in order, and its values are in every round; what is behind it is performed
// with the same values. None of it is in a figure.
func TestSetUpAndTearDown(t *testing.T) {
	const text = `POST /wait
@setup
@until body contains ready
@poll 1ms 10

POST /tenants
@setup
@set name load-{{.Seq}}
@body {{name}}
@capture tenant json id
@capture keys all json keys

GET /item/{{tenant}}?{{key}}
@repeat key in keys

DELETE /tenants/{{tenant}}
@teardown
@body {{name}}
`
	for _, flags := range []string{"--rate 500/s -n 10", "-c 3 -n 30"} {
		s := &asked{answer: func(w http.ResponseWriter, q *http.Request, n int) {
			switch {
			case q.URL.Path == "/wait" && n == 3:
				fmt.Fprint(w, "ready")
			case q.URL.Path == "/tenants":
				fmt.Fprint(w, `{"id":"t1","keys":["a","b"]}`)
			}
		}}
		r := scenarioRun(t, flags, text, s.ServeHTTP)
		if len(s.bodies["/wait"]) != 3 || !slices.Equal(s.bodies["/tenants"], []string{"load-0"}) || !slices.Equal(s.bodies["/tenants/t1"], []string{"load-0"}) {
			t.Errorf("%s: %q", flags, s.bodies)
		}
		items := s.bodies["/item/t1"]
		if c := r.Counts; uint64(len(items)) != c.Scheduled || c.OK != c.Scheduled || !slices.Contains(items, "a") || !slices.Contains(items, "b") || len(r.Extra["steps"].([]any)) != 1 || len(r.Warnings) > 0 && r.Warned("teardown") {
			t.Errorf("%s: %+v, %d items, %v", flags, c, len(items), r.Extra["steps"])
		}
	}
}

// told is what takt says meanwhile.
var told []string

// setUpRun runs a scenario whose context may end.
func setUpRun(ctx context.Context, t *testing.T, text string, h http.HandlerFunc) (*takt.Report, error) {
	t.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	o, e := New(), engine.Defaults()
	e.Connections, e.Requests = 2, 20
	o.Scenario = scenarioFile(t, text)
	o.Attend(nil, func(text string) { told = append(told, text) })
	o.Shape(&e)
	if faults := o.Validate([]string{s.URL}); len(faults) > 0 {
		t.Fatal(faults)
	}
	base, err := e.Source()
	if err != nil {
		t.Fatal(err)
	}
	src, err := o.Source(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	d, err := o.Open(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Run(ctx, engine.Plan{Options: e, Kind: "http", Source: src, Driver: d})
}

// A step of @setup that fails ends the run before the load, with its cause, and nothing is torn down. A step of @teardown
// that fails is a warning; it is also performed if the run was ended, and if it was ended before its start.
func TestSetUpFails(t *testing.T) {
	for text, want := range map[string]string{
		"GET /no\n@setup\n\nGET /load\n\nGET /down\n@teardown\n":                                            `@setup failed: step "GET /no": status 500; the answer begins with "broken \"x\""`,
		"GET /ok\n@setup\n@capture id json id\n\nGET /load\n":                                               `@setup failed: step "GET /ok": cannot capture id from the body`,
		"GET /ok\n@setup\n@check status 201\n\nGET /load\n":                                                 `it is 200`,
		"GET /ok\n@setup\n@capture code status\n\nGET /load\n@when code == 201\n":                           `the values of @setup leave no step for a round`,
		"GET /ok\n@setup\n@capture ids all css a\n\nGET /load?{{id}}\n@repeat id in ids\n":                  `the values of @setup leave no step for a round`,
		"GET /ok\n@setup\n@capture ids all css a\n\nGET /load\n@once\n\nGET /b?{{id}}\n@repeat id in ids\n": `the values of @setup leave no step for a round`,
		"GET /no\n@setup\n@retry 3 5xx 1ms\n\nGET /load\n":                                                  `status 500`,
		"GET /no\n@setup\n@optional\n@capture id json id\n\nGET /{{id}}\n@setup\n\nGET /load":               `the round has no value {{id}}`,
	} {
		var s asked
		s.answer = func(w http.ResponseWriter, q *http.Request, _ int) {
			if q.URL.Path == "/no" {
				w.WriteHeader(500)
				fmt.Fprint(w, "broken\n \"x\"\x1b[2J")
			}
		}
		_, err := setUpRun(t.Context(), t, text, s.ServeHTTP)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "·[2J", ""), want) || s.bodies["/load"] != nil || s.bodies["/down"] != nil {
			t.Errorf("%q: %v, %q", text, err, s.bodies)
		}
	}
	defer func(old time.Duration) { tellAfter = old }(tellAfter)
	told, tellAfter = nil, 0
	const text = "GET /up\n@setup\n\nGET /load\n\nGET /down\n@teardown\n"
	for _, when := range []string{"/up", "/load", "/down", "never"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &asked{answer: func(w http.ResponseWriter, q *http.Request, _ int) {
			if q.URL.Path == when {
				cancel()
			}
			if q.URL.Path == "/down" {
				w.WriteHeader(404)
			}
		}}
		r, err := setUpRun(ctx, t, text, s.ServeHTTP)
		switch {
		case when == "/up" && (err != context.Canceled || s.bodies["/down"] != nil || s.bodies["/load"] != nil):
			t.Errorf("ended in the setup: %v, %q", err, s.bodies)
		case when != "/up" && (err != nil || len(s.bodies["/down"]) != 1 || !r.Warned("teardown")):
			t.Errorf("ended at %s: %v, %q", when, err, s.bodies)
		}
	}
	if !slices.Contains(told, `@setup is under way, at step "GET /up"`) {
		t.Errorf("%q", told)
	}
}

// With @once a user logs in in its first round, or in the first one in which that succeeds, and its cookies, values, line and
// connection last. With a rate each round is another user.
func TestOnce(t *testing.T) {
	const text = `POST /login
@once
@set mail {{file "FILE" exclusive}}@x
@body {{mail}}
@capture token json token

GET /use?{{token}}|{{mail}}
@capture seen json seen

GET /seen
@when seen
`
	for flags, users := range map[string]int{"-c 5 -n 200": 5, "--rate 500/s -n 40": 40} {
		conns := map[string]string{}
		var wrong []string
		s := &asked{}
		s.answer = func(w http.ResponseWriter, q *http.Request, n int) {
			switch q.URL.Path {
			case "/login":
				if n <= 2 && users == 5 {
					w.WriteHeader(503)
					return
				}
				mail := s.bodies["/login"][n-1]
				conns[mail] = q.RemoteAddr
				http.SetCookie(w, &http.Cookie{Name: "sid", Value: mail, Path: "/"})
				fmt.Fprintf(w, `{"token":"t-%s"}`, mail)
			case "/use":
				token, mail, _ := strings.Cut(q.URL.RawQuery, "|")
				if token != "t-"+mail || q.Header.Get("Cookie") != "sid="+mail || conns[mail] != q.RemoteAddr {
					wrong = append(wrong, fmt.Sprint(q.URL.RawQuery, q.Header["Cookie"]))
				}
				fmt.Fprint(w, `{"seen":1}`)
			}
		}
		r := scenarioRun(t, flags, strings.ReplaceAll(text, "FILE", feederFile(t, 50)), s.ServeHTTP)
		logins, mails := s.bodies["/login"], map[string]bool{}
		for _, mail := range logins {
			mails[mail] = true
		}
		if users == 5 {
			users += 2 // tries that failed
		}
		if len(wrong) > 0 || len(logins) != users || users == 7 && len(mails) != 5 || len(s.bodies["/use"]) < 35 {
			t.Errorf("%s: %d logins of %d, %q, %+v", flags, len(logins), len(mails), wrong, r.Counts)
		}
	}
}

// A redirect is no success of a step with @once: the step is performed again if the answer behind the redirect fails.
func TestOnceFollows(t *testing.T) {
	s := &asked{answer: func(w http.ResponseWriter, q *http.Request, n int) {
		switch {
		case q.URL.Path == "/login":
			http.Redirect(w, q, "/in", http.StatusSeeOther)
		case q.URL.Path == "/in" && n == 1:
			w.WriteHeader(503)
		}
	}}
	scenarioRun(t, "-c 1 -n 12", "GET /home\n\nGET /login\n@once\n@follow\n", s.ServeHTTP)
	if in, home := len(s.bodies["/in"]), len(s.bodies["/home"]); in != 2 || home != 8 {
		t.Errorf("/in was asked for %d times, /home %d times", in, home)
	}
}

// A user has something to do in each round.
func TestOnceIsNotAll(t *testing.T) {
	for text, want := range map[string]string{
		"GET /a\n@once\n": "no step of the journey from line 1 on is performed in every round",
		"GET /a\n@once\n@capture x status\n\nGET /b\n@when x == 200\n":                                       "no step of the journey from line 1 on",
		"GET /a\n@once\n@capture x all json x\n\nGET /b\n@group g\n@repeat y in x\n\nGET /c\n@group g\n":     "no step of the journey from line 1 on",
		"GET /a\n@journey a\n\nGET /c\n@once\n@journey b\n":                                                  "no step of the journey from line 4 on",
		"GET /a\n@once\n@capture x all json x\n\nGET /b\n@group g\n@repeat 3\n\nGET /c\n@group g\n@when x\n": "",
	} {
		o, e := New(), engine.Defaults()
		e.Connections, e.Requests, o.Scenario = 2, 20, scenarioFile(t, text)
		o.Shape(&e)
		faults := o.Validate([]string{"http://127.0.0.1:1/"})
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.Contains(faults[0].Error(), want)) {
			t.Errorf("%q: %v", text, faults)
		}
	}
}

// Users with a pace begin a round at the earliest that long after the one before, and a run of a number of requests does
// not wait for a round that nobody will begin. A round that lasts longer is a warning.
func TestPace(t *testing.T) {
	var mu sync.Mutex
	var begun []time.Time
	at := func(_ http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if q.URL.Path == "/a" {
			begun = append(begun, time.Now())
		}
	}
	from := time.Now() // a busy machine only adds to what follows
	r := scenarioRun(t, "-c 1 -n 9", "GET /once\n@once\n@pace 30ms\n\nGET /a\n\nGET /b\n", at)
	if len(begun) != 4 || begun[3].Sub(from) < 90*time.Millisecond || r.Counts.OK != 9 {
		t.Errorf("%v, %+v", begun, r.Counts)
	}
	begun, from = nil, time.Now()
	r = scenarioRun(t, "-c 1 -n 4", "GET /once\n@once\n\nGET /a\n@think 30ms\n", at) // the think time is that of all rounds
	if passed := r.Extra["steps"].([]any)[0].(map[string]any)["passed_over"]; len(begun) != 3 || begun[2].Sub(from) < 90*time.Millisecond || passed != 2.0 {
		t.Errorf("%v, passed over %v", begun, passed)
	}
	r = scenarioRun(t, "-c 3 -n 6", "GET /a\n@pace 1h\n\nGET /b\n", at)
	if r.Counts.OK != 6 || r.DurationS > 1000 || r.Warned("pace_missed") {
		t.Errorf("%+v, %v s", r.Counts, r.DurationS)
	}
	r = scenarioRun(t, "--rate 1000/s -n 4", "GET /a\n@pace 1h\n\nGET /b\n", at) // the rate says when rounds begin
	if r.Counts.OK != 4 || r.DurationS > 1000 || r.Warned("pace_missed") {
		t.Errorf("with a rate: %+v, %v s", r.Counts, r.DurationS)
	}
	r = scenarioRun(t, "-c 1 -n 4", "GET /a\n@pace 1ms\n\nGET /b\n", func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Millisecond) })
	if !r.Warned("pace_missed") {
		t.Errorf("%v", r.Warnings)
	}
}

// A group is repeated as a whole, each time with its values and the conditions of its steps, until its first step's
// condition does not hold.
func TestGroups(t *testing.T) {
	const text = `GET /start
@capture ids all json ids
@capture more json more

GET /item/{{id}}
@group cart
@repeat id in ids
@set key {{randInt 1 1000000000}}

POST /add
@group cart
@body {{id}} {{key}}

GET /big
@group cart
@when id == b
@optional

GET /page
@group pages
@repeat 10
@when more == yes
@capture more json more

GET /shown
@group pages

GET /end?{{id}}
`
	for _, flags := range []string{"--rate 200/s -n 1", "-c 1 -n 15"} {
		var paths []string
		keys := map[string]bool{}
		r := scenarioRun(t, flags, text, func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			paths = append(paths, strings.TrimSuffix(q.URL.Path+"?"+q.URL.RawQuery, "?"))
			switch q.URL.Path {
			case "/start":
				fmt.Fprint(w, `{"ids":["a","b","c"],"more":"yes"}`)
			case "/add":
				keys[string(body)] = true
			case "/big":
				w.WriteHeader(404)
			case "/page":
				more := "yes"
				if len(paths) > 10 {
					more = "no"
				}
				fmt.Fprintf(w, `{"more":%q}`, more)
			}
		})
		want := "/start /item/a /add /item/b /add /big /item/c /add /page /shown /page /shown /end?c"
		if got := strings.Join(paths[:13], " "); got != want || len(keys) != 3 || r.Counts.Failed != 1 {
			t.Errorf("%s:\n%s, want\n%s\n%v, %+v", flags, got, want, keys, r.Counts)
		}
	}
}
