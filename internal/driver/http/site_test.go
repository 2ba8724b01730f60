package http

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// site is the server of a scenario. It knows the rules of its application, and counts what breaks them.
type site struct {
	waits bool // its visitors have to wait their think times after each answer, as without a rate

	early int               // a round may end after so many steps, too; 0: it may not
	same  map[string]string // names of steps that the site cannot tell from others

	mux    *http.ServeMux
	mu     sync.Mutex
	broken map[string]int    // by rule
	asked  map[string]int    // requests by step
	guests map[string]*guest // by all that names them: tokens, cookies, ids
	all    []*guest
	inside map[string]bool // names of users who are logged in
	serial int
	votes  int // that random numbers decide about
}

// guest is a round as the server sees it.
type guest struct {
	from  string   // address of its connection
	want  []string // steps of the round, as far as they are known
	at    int      // steps of want that were there
	said  map[string]string
	items map[string]int
	left  time.Time // when the last answer went
}

// ask is a request.
type ask struct {
	*site
	*guest
	w     http.ResponseWriter
	q     *http.Request
	body  []byte
	steps []string // which it may be
	bad   bool
}

func newSite(waits bool) *site {
	return &site{waits: waits, mux: http.NewServeMux(), broken: map[string]int{}, asked: map[string]int{}, guests: map[string]*guest{}, inside: map[string]bool{}}
}

// on serves the requests of a pattern. Each is one of steps: the one that the round has next.
func (s *site) on(pattern string, serve func(a *ask), steps ...string) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		s.mu.Lock()
		defer s.mu.Unlock()
		a := &ask{site: s, w: w, q: q, body: body, steps: steps}
		a.must(err == nil, "body cut")
		serve(a)
		if a.guest != nil {
			a.left = time.Now()
		}
	})
}

// ServeHTTP implements http.Handler.
func (s *site) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if _, pattern := s.mux.Handler(q); pattern == "" {
		s.mu.Lock()
		s.broken["no page at "+q.Method+" "+q.URL.String()]++
		s.mu.Unlock()
	}
	s.mux.ServeHTTP(w, q)
}

// id is a text that no other has.
func (s *site) id(kind string) string {
	s.serial++
	return fmt.Sprintf("%s-%d", kind, s.serial)
}

// must counts a rule that is broken, and refuses the request.
func (a *ask) must(holds bool, rule string) bool {
	if !holds {
		a.broken[rule]++
		if !a.bad {
			a.w.WriteHeader(http.StatusBadRequest)
		}
		a.bad = true
	}
	return holds
}

// enters begins a round of these steps.
func (a *ask) enters(name string, want ...string) {
	a.guest = &guest{from: a.q.RemoteAddr, want: want, said: map[string]string{}, items: map[string]int{}}
	a.all = append(a.all, a.guest)
	a.alias(name)
	a.step()
}

// alias is a further name of the guest.
func (a *ask) alias(name string) { a.guests[name] = a.guest }

// is finds the guest with this name, which has to be on its own connection and at this step.
func (a *ask) is(name string) bool {
	if a.guest = a.guests[name]; a.guest == nil {
		a.asked[a.steps[0]]++
		return a.must(false, "nobody has this token")
	}
	mine := a.must(a.from == a.q.RemoteAddr, "token of another user")
	return a.step() && mine
}

// has finds the guest by a cookie.
func (a *ask) has(cookie string) bool {
	c, err := a.q.Cookie(cookie)
	if err != nil {
		c = &http.Cookie{}
	}
	return a.is(c.Value)
}

// step takes the next step of the round.
func (a *ask) step() bool {
	if a.at >= len(a.want) || !slices.Contains(a.steps, a.want[a.at]) {
		a.asked[a.steps[0]]++
		return a.must(false, fmt.Sprintf("wrong order: %s at %d of %s", a.steps[0], a.at, a.want))
	}
	a.asked[a.want[a.at]]++
	a.at++
	return true
}

// after is a rule about the time since the last answer to the round.
func (a *ask) after(wait time.Duration, rule string) bool {
	return a.must(time.Since(a.left) >= wait, rule)
}

// thinks is after for a think time.
func (a *ask) thinks(wait time.Duration) bool {
	return !a.waits || a.after(wait, "no think time")
}

// answers says text, unless the request is refused.
func (a *ask) answers(status int, format string, args ...any) {
	if !a.bad {
		a.w.WriteHeader(status)
		fmt.Fprintf(a.w, format, args...)
	}
}

// moves redirects.
func (a *ask) moves(status int, location string) {
	a.w.Header().Set("Location", location)
	a.answers(status, "")
}

// form is a value of the form, which has each name once.
func (a *ask) form(name string) string {
	if err := a.q.ParseForm(); err != nil {
		a.must(false, "form is not readable")
	}
	a.must(len(a.q.PostForm[name]) <= 1, "field twice: "+name)
	return a.q.PostForm.Get(name)
}

// read decodes the body.
func (a *ask) read(v any) bool {
	return a.must(json.Unmarshal(a.body, v) == nil, "body is not JSON") && a.must(a.q.Header.Get("Content-Type") == "application/json", "Content-Type")
}

// compare compares what the site saw with the report: nothing that breaks a rule, nothing failed, the same requests for each
// step, and whole rounds. With a schedule there are n of them; without, the end cuts those of the last users.
func (s *site) compare(t *testing.T, r *takt.Report, n, users int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for rule, times := range s.broken {
		t.Errorf("%d times: %s", times, rule)
	}
	if c := r.Counts; c.Failed+c.Dropped+c.Unfinished > 0 || c.OK != c.Scheduled {
		t.Errorf("%+v, %+v", c, r.Errors)
	}
	sent := map[string]int{}
	for _, one := range r.Extra["steps"].([]any) {
		row := one.(map[string]any)
		name := row["name"].(string)
		sent[cmp.Or(s.same[name], name)] += int(row["ok"].(float64))
	}
	if !maps.Equal(sent, s.asked) {
		t.Errorf("takt sent %v, the server had %v", sent, s.asked)
	}
	whole, cut := s.rounds()
	if users == 0 && (whole != n || cut > 0) || cut > users || whole < n-users || whole > n+users {
		t.Errorf("%d whole rounds and %d cut ones, want %d", whole, cut, n)
	}
	if rounds, is := r.Extra["rounds"].(map[string]any); is && (rounds["begun"] != float64(whole+cut) || rounds["failed"] != 0.0 || s.early == 0 && rounds["completed"] != float64(whole)) {
		t.Errorf("takt has %v, the server %d rounds and %d cut ones", rounds, whole, cut)
	}
}

// rounds are those that were whole, and those that ended too early.
func (s *site) rounds() (whole, cut int) {
	for _, g := range s.all {
		if g.at == len(g.want) || g.at == s.early {
			whole++
		} else {
			cut++
		}
	}
	return whole, cut
}
