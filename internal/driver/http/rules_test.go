package http

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const rulesText = `POST /login
@name log in
@capture user json user
@capture role json role
@capture ids all json items.#.id
@retry 3 503 1ms

GET /banner
@optional
@capture banner header X-Banner

GET /admin
@when role == admin
X-User: {{user}}

GET /plain
@unless role == admin
X-User: {{user}}

GET /item/{{id}}
@repeat id in ids
X-User: {{user}}

GET /page?n={{n}}
@repeat n in 2..4
X-User: {{user}}

GET /job
@name job
X-User: {{user}}
@until json state == done
@poll 1ms 10
@capture result json result

GET /end?{{result}}
X-User: {{user}}
`

// rulesServer answers as the scenario needs it: it refuses the first login of each connection, has no banner, and a job is done
// at the third look.
type rulesServer struct {
	mu     sync.Mutex
	known  map[string]bool // connections
	logins int
	looks  map[string]int
	seen   map[string][]string // paths by user
}

func (s *rulesServer) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user := q.Header.Get("X-User")
	switch q.URL.Path {
	case "/login":
		if !s.known[q.RemoteAddr] {
			s.known[q.RemoteAddr] = true
			w.WriteHeader(503)
			return
		}
		delete(s.known, q.RemoteAddr) // another user may have it later
		s.logins++
		role, items := "guest", ""
		if s.logins%2 == 1 {
			role, items = "admin", `{"id":7},{"id":8}`
		}
		fmt.Fprintf(w, `{"user":"u%d","role":%q,"items":[%s]}`, s.logins, role, items)
		return
	case "/banner":
		w.WriteHeader(404)
		return
	case "/job":
		if s.looks[user]++; s.looks[user] < 3 {
			fmt.Fprint(w, `{"state":"busy"}`)
			return
		}
		fmt.Fprint(w, `{"state":"done","result":"r"}`)
	}
	s.seen[user] = append(s.seen[user], q.URL.String())
}

// A user performs the steps that the answers of its round ask for, in order, with a schedule and without. The schedule is one
// of rounds.
func TestRules(t *testing.T) {
	for _, flags := range []string{"--rate 200/s -n 40", "-c 5 -n 400"} {
		server := &rulesServer{known: map[string]bool{}, looks: map[string]int{}, seen: map[string][]string{}}
		r := scenarioRun(t, flags, rulesText, server.ServeHTTP)
		rounds := r.Extra["rounds"].(map[string]any)
		scheduled := strings.HasPrefix(flags, "--rate")
		if scheduled && (rounds["begun"] != 40.0 || rounds["completed"] != 40.0 || rounds["intended_per_s"].(float64) > 200.001 || *r.Rate.Intended < 400) || rounds["failed"] != 0.0 {
			t.Errorf("%s: %v, %+v", flags, rounds, r.Errors)
		}
		complete := 0
		for user, paths := range server.seen {
			want := []string{"/plain", "/page?n=2", "/page?n=3", "/page?n=4", "/job", "/end?r"}
			if strings.Contains(strings.Join(paths, " "), "/admin") {
				want = []string{"/admin", "/item/7", "/item/8", "/page?n=2", "/page?n=3", "/page?n=4", "/job", "/end?r"}
			}
			if slices.Equal(paths, want) {
				complete++
			} else if scheduled || len(paths) > len(want) || !slices.Equal(paths, want[:len(paths)]) {
				t.Errorf("%s: %s went to %q", flags, user, paths)
			}
		}
		if float64(complete) != rounds["completed"] || complete < 5 {
			t.Errorf("%s: %d rounds of %v are complete", flags, complete, rounds)
		}
		if !scheduled {
			continue
		}
		// 40 logins and as many refused, 40 banners, 20 admins with 2 items each, 20 others, 3 pages, 3 looks, 1 end
		if c := r.Counts; c.Scheduled != 80+40+20+40+20+120+120+40 || c.OK != c.Scheduled-80 || c.Dropped != 0 {
			t.Errorf("%+v", c)
		}
		var passed []any
		for _, row := range r.Extra["steps"].([]any) {
			passed = append(passed, row.(map[string]any)["passed_over"])
		}
		if got := fmt.Sprint(passed); got != "[<nil> <nil> 20 20 20 <nil> <nil> <nil>]" {
			t.Errorf("passed over: %s", got)
		}
	}
}

// A round fails where a step fails that is not optional: the rest of it never becomes due.
func TestRulesFail(t *testing.T) {
	for text, want := range map[string]string{
		"GET /a\n@retry 2 503 1ms\n\nGET /b\n":                             "0+30+0 0+0+0: 5xx",
		"GET /a\n@retry 2 429 1ms\n\nGET /b\n":                             "0+10+0 0+0+0: 5xx",
		"GET /a\n@optional\n\nGET /b\n@check status 503\n":                 "0+10+0 10+0+0: 5xx",
		"GET /b\n@fine\n@until status 200\n@poll 1ms 3\n\nGET /c\n":        "20+10+0 0+0+0: check",
		"GET /b\n@fine\n@repeat 3\n\nGET /c\n@fine\n@unless code == 503\n": "30+0+0 0+0+0: ",
		"GET /a\n@optional\n@capture x json x\n\nGET /{{x}}\n@fine\n":      "0+10+0 0+10+0: 5xx request",
	} {
		text = strings.ReplaceAll(text, "@fine", "@check status 503\n@capture code status")
		if strings.Contains(text, "@until") {
			text = strings.ReplaceAll(text, "@check status 503\n", "")
		}
		r := scenarioRun(t, "--rate 1000/s -n 10", text, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
		var classes []string
		for _, e := range r.Errors {
			classes = append(classes, e.Class)
		}
		slices.Sort(classes)
		if got := stepCounts(r) + ": " + strings.Join(classes, " "); got != want || r.Counts.Dropped != 0 {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Journeys have their shares of the rounds, the same in each run with one seed.
func TestJourneys(t *testing.T) {
	const text = "GET /a\n@journey look 3\n\nGET /b\n\nGET /c\n@journey buy 1\n\nGET /d\n"
	var counts []string
	for range 2 {
		r := scenarioRun(t, "--rate 2000/s -n 400 --seed 7", text, func(http.ResponseWriter, *http.Request) {})
		if c := r.Counts; c.Scheduled != 800 || c.OK != 800 {
			t.Errorf("%+v", c)
		}
		counts = append(counts, stepCounts(r))
	}
	var a, b, c, d int
	if _, err := fmt.Sscanf(counts[0], "%d+0+0 %d+0+0 %d+0+0 %d+0+0", &a, &b, &c, &d); err != nil || a != b || c != d || a+c != 400 || a < 270 || a > 330 || counts[0] != counts[1] {
		t.Errorf("%q", counts)
	}
}

// Faults of rules have their line, and say what to write.
func TestRuleFaults(t *testing.T) {
	for text, want := range map[string]string{
		"GET /a\n@repeat 0\n":                                                       "scenario:2: \"0\" does not say how often",
		"GET /a\n@repeat 10001\n":                                                   "at most 10000",
		"GET /a\n@repeat n in 5..1\n":                                               "does not say how often",
		"GET /a\n@repeat n in -1..1\n":                                              "does not say how often",
		"GET /a\n@repeat n in 0..80 by 0\n":                                         "does not say how often",
		"GET /a\n@repeat n in ids by 2\n":                                           "does not say how often",
		"GET /a\n@repeat n in 0..80 of 2\n":                                         "does not say how often",
		"GET /a\n@repeat n in 0..20000 by 2\n":                                      "at most 10000 times",
		"GET /a\n@repeat 0..80 by 2\n":                                              "does not say how often",
		"GET /a\n@repeat n of 3\n":                                                  "does not say how often",
		"GET /a\n@repeat n in 1..99999999999999999999\n":                            "does not say how often",
		"GET /a\n@repeat id in ids\n":                                               "no earlier step captures the list ids",
		"GET /a\n@capture ids json a\n\nGET /b\n@repeat id in ids":                  "no earlier step captures the list ids",
		"GET /a\n@until json a == b\n":                                              "scenario:1: @until needs @poll",
		"GET /a\n@poll 1s 5\n":                                                      "@poll needs @until",
		"GET /a\n@poll 1s\n":                                                        "is not a time and a number",
		"GET /a\n@poll 5 0\n":                                                       "is not a time and a number",
		"GET /a\n@until service < 1s\n@poll 1s 5\n":                                 "not about its time",
		"GET /a\n@until\n@poll 1s 5\n":                                              "is not a part of an answer",
		"GET /a\n@until json a == {{b}}\n@poll 1s 5\n":                              "scenario:2: step 1 until: {{b}}: unknown placeholder",
		"GET /a\n@retry\n":                                                          "does not say how often and when",
		"GET /a\n@retry 0\n":                                                        "does not say how often and when",
		"GET /a\n@retry 101\n":                                                      "does not say how often and when",
		"GET /a\n@retry 3 9xx\n":                                                    "does not say how often and when",
		"GET /a\n@retry 3 503 soon\n":                                               "does not say how often and when",
		"GET /a\n@retry 3 503 1s 2s\n":                                              "does not say how often and when",
		"GET /a\n@optional yes\n":                                                   "has nothing behind it",
		"GET /a\n@when role == admin\n":                                             "role is captured by no earlier step",
		"GET /a\n@capture b json c\n\nGET /b\n@when b ==\n":                         "compares with nothing",
		"GET /a\n@capture b json c\n\nGET /b\n@when b == {{d}}":                     "unknown placeholder",
		"GET /a\n@capture b json c\n\nGET /b\n@unless {{b}}\n":                      "is not a condition",
		"GET /a\n\nGET /b\n@journey buy 3\n":                                        "the first step begins none",
		"GET /a\n@journey a\n\nGET /b\n@journey a\n":                                "two journeys have the name a",
		"GET /a\n@journey a 0\n":                                                    "is not a weight",
		"GET /a\n@journey\n":                                                        "@journey without a name",
		"GET /a\n@think 1s..\n":                                                     "is not a time",
		"GET /a\n@think exp(1s\n":                                                   "is not a time",
		"GET /a\n@capture a all cookie\n":                                           "has nothing behind it",
		"GET /a\n@set\n":                                                            "scenario:2: \"\" is not a name and a value",
		"GET /a\n@set a\n":                                                          "is not a name and a value",
		"GET /a\n@set 1a b\n":                                                       "is not a name and a value",
		"GET /a\n@set a {{a}}\n":                                                    "scenario:2: step 1 set a: {{a}}: unknown placeholder",
		"GET /{{a}}\n\nGET /b\n@set a b\n":                                          "scenario:1: step 1 url: {{a}}: unknown placeholder",
		"GET /a\n@set a {{randString 9000}}\n":                                      "scenario:2: a can become longer than 8192 bytes",
		"GET /a\n@set uuid 1\n":                                                     "scenario:2: {{uuid}} is a placeholder",
		"GET /a\n@capture now json a\n":                                             "scenario:1: {{now}} is a placeholder",
		"GET /a\n@setup now\n\nGET /b\n":                                            "scenario:2: @setup has nothing behind it",
		"GET /a\n\nGET /b\n@setup\n":                                                "scenario:4: a step with @setup behind others",
		"GET /a\n\nGET /b\n@teardown\n\nGET /c\n":                                   "scenario:6: a step behind those with @teardown",
		"GET /a\n@setup\n":                                                          "no step in it that users perform",
		"GET /a\n@setup\n@once\n\nGET /b\n":                                         "@once, @pace and @journey are about rounds",
		"GET /a\n@setup\n@journey x\n\nGET /b\n":                                    "@once, @pace and @journey are about rounds",
		"GET /a\n@setup\n@teardown\n\nGET /b\n":                                     "scenario:3: both @setup and @teardown",
		"GET /a\n@capture x body\n\nGET /{{x}}\n@teardown\n":                        "scenario:4: step 2 url: {{x}}: unknown placeholder",
		"POST /a\n@setup\n@body {{file \"/etc/hosts\" once}}\n\nGET /b\n":           "the word once ends the run",
		"POST /a\n@setup\n@body {{file \"/etc/hosts\" exclusive}}\n\nGET /b\n":      "the word exclusive lends a line to the user of a scenario",
		"GET /a\n@once 3\n":                                                         "@once has nothing behind it",
		"GET /a\n@once\n@group g\n@repeat 2\n":                                      "@once in a step of a group",
		"GET /a\n@group\n":                                                          "@group without a name",
		"GET /a\n@group g\n\nGET /b\n@group g\n":                                    "scenario:2: the first step of the group g has no @repeat, @when or @unless",
		"GET /a\n@group g\n@repeat 2\n\nGET /b\n@group g\n@repeat 2\n":              "scenario:7: @repeat in a later step of the group g",
		"GET /a\n@group g\n@repeat 2\n\nGET /b\n\nGET /c\n@group g\n":               "scenario:8: the group g begins in line 2, and ended",
		"GET /a\n@journey x\n@group g\n@repeat 2\n\nGET /b\n@journey y\n@group g\n": "the group g begins in line 3, and ended",
		"GET /a\n@capture t css\n":                                                  "has nothing behind it",
		"GET /a\n@capture t css a:hover\n":                                          "scenario:2: capture t: \"a:hover\": takt does not know :hover",
		"GET /a\n@check css [a\n":                                                   "scenario:2: check \"css [a\": \"[a\": it is not a selector",
		"GET /a\n@pace\n":                                                           "is not the time of a round",
		"GET /a\n@pace 0\n":                                                         "is not the time of a round",
		"GET /a\n@pace 2h\n":                                                        "is not the time of a round",
		"GET /a\n\nGET /b\n@pace 1s\n":                                              "scenario:4: @pace is about rounds",
		"GET /a\n@journey a\n@capture v json v\n\nGET /b\n@journey b\n@when v == 1\n":       "v is captured by no earlier step",
		"GET /a\n@journey a\n@capture v all json v\n\nGET /b\n@journey b\n@repeat i in v\n": "no earlier step captures the list v",
		"GET /a\n@journey a\n@capture v json v\n\nGET /{{v}}\n@journey b\n":                 "unknown placeholder",
		"GET /a\n@repeat 2\n@repeat 3\n":                                                    "scenario:3: a second @repeat in the step",
		"GET /a\n@follow\n@optional\n@follow 3\n":                                           "scenario:4: a second @follow in the step",
		"GET /a\n@capture b json c\n\nGET /b\n@when b == \n":                                "scenario:5: \"b ==\" compares with nothing",
		"GET /a\n@capture b json c\n\nGET /b\n@when b >= ten\n":                             "scenario:5: \"b >= ten\" compares numbers",
		"GET /a\n@until json a < done\n@poll 1s 5\n":                                        "compares numbers, and \"done\" is not one",
	} {
		wantFault(t, text, want)
	}
}

// A user without a rate waits before its next round, also one of another journey; with a rate nobody waits before a round.
func TestRestBetweenRounds(t *testing.T) {
	const text, rest = "GET /a\n@think 20ms\n@journey a\n\nGET /b\n\nGET /c\n@journey c\n@think 20ms..25ms\n\nGET /d\n", 20 * time.Millisecond
	var mu sync.Mutex
	var last time.Time
	begun, early := 0, 0
	r := scenarioRun(t, "-c 1 -n 40", text, func(_ http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if q.URL.Path == "/a" || q.URL.Path == "/c" {
			begun++
			if !last.IsZero() && time.Since(last) < rest {
				early++
			}
		}
		last = time.Now()
	})
	if r.Counts.OK != 40 || begun != 20 || early > 0 {
		t.Errorf("%d rounds, %d too early, %+v", begun, early, r.Counts)
	}
	for _, text := range []string{text, "GET /a\n@think 1h\n\nGET /b\n"} {
		if r := scenarioRun(t, "--rate 400/s -n 20", text, func(http.ResponseWriter, *http.Request) {}); r.Counts.OK < 20 || r.Warned("think_times") {
			t.Errorf("%+v, %v", r.Counts, r.Warnings)
		}
	}
}

// With --overflow drop a round is dropped as a whole, at its beginning: the steps of one that has begun wait for room, the
// run ends, and no step is sent whose step before was not.
func TestOverflowDropsRounds(t *testing.T) {
	for _, text := range []string{"GET /0\n\nGET /1\n\nGET /2\n", "GET /0\n\nGET /1\n@optional\n\nGET /2\n"} {
		var mu sync.Mutex
		var seen []string
		r := scenarioRun(t, "--rounds 1000/s -n 60 --max-in-flight 2 --overflow drop", text, func(_ http.ResponseWriter, q *http.Request) {
			mu.Lock()
			seen = append(seen, q.URL.Path)
			mu.Unlock()
			time.Sleep(5 * time.Millisecond)
		})
		count := func(path string) (n uint64) {
			for _, s := range seen {
				if s == path {
					n++
				}
			}
			return n
		}
		rounds := r.Extra["rounds"].(map[string]any)
		begun, dropped := rounds["begun"].(float64), rounds["dropped"].(float64)
		if n := count("/0"); begun+dropped != 60 || dropped == 0 || float64(n) != begun || count("/1") != n || count("/2") != n || r.Counts.OK != 3*n {
			t.Errorf("%v, %d, %d and %d requests, %+v", rounds, n, count("/1"), count("/2"), r.Counts)
		}
		if !r.Warned("dropped") {
			t.Errorf("%v", r.Warnings)
		}
	}
}

// The rows of the steps add up to the operations of the report, also those of answers that come as the run is cut: a
// timeout is as long as the drain, so those of the last rounds end together with it.
func TestStepsAddUpAtTheCut(t *testing.T) {
	for range 10 {
		r := scenarioRun(t, "--rounds 400/s -n 40 -t 100ms", "GET /a\n\nGET /b\n", func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
		var failed, skipped float64
		for _, row := range r.Extra["steps"].([]any) {
			row := row.(map[string]any)
			failed, skipped = failed+row["failed"].(float64), skipped+row["skipped"].(float64)
		}
		if c := r.Counts; failed != float64(c.Failed) || skipped != float64(c.Dropped) || c.Scheduled != 80 {
			t.Errorf("steps: %v failed, %v skipped; report: %+v", failed, skipped, c)
		}
	}
}
