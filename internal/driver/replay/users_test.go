package replay

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// arrivals is a server that notes the order in which requests of each user arrive, and on which
// connections.
type arrivals struct {
	*httptest.Server
	mu    sync.Mutex
	order map[string][]int    // numbers of requests, by user
	conns map[string][]string // remote addresses, by user
	at    map[string][]time.Time
	open  map[string]int // requests of a user under way
	both  int            // requests that arrived before the answer to the user's previous one
}

// newArrivals is a server whose requests are /USER/NUMBER. wait is called before each answer.
func newArrivals(t *testing.T, wait func(user string, n int)) *arrivals {
	s := &arrivals{order: map[string][]int{}, conns: map[string][]string{}, at: map[string][]time.Time{}, open: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, number, _ := strings.Cut(r.URL.Path[1:], "/")
		n, _ := strconv.Atoi(number) // the log has only numbers
		s.mu.Lock()
		s.order[user] = append(s.order[user], n)
		s.at[user] = append(s.at[user], time.Now())
		if !slices.Contains(s.conns[user], r.RemoteAddr) {
			s.conns[user] = append(s.conns[user], r.RemoteAddr)
		}
		if s.open[user]++; s.open[user] > 1 {
			s.both++
		}
		s.mu.Unlock()
		wait(user, n)
		s.mu.Lock()
		s.open[user]--
		s.mu.Unlock()
	}))
	t.Cleanup(s.Close)
	return s
}

// usersLog is a log of n requests, gap apart, of users in turn.
func usersLog(t *testing.T, n, users int, gap time.Duration) string {
	var b strings.Builder
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i := range n {
		fmt.Fprintf(&b, `{"time":%q,"client":"u%d","uri":"/u%d/%d","status":200}`+"\n", at.Format("2006-01-02 15:04:05.000000"), i%users, i%users, i)
		at = at.Add(gap)
	}
	return write(t, b.String())
}

// Each user keeps its order on one connection, and waits for its answers, also when the server is
// slow for some of its requests.
func TestUsersKeepTheirOrder(t *testing.T) {
	s := newArrivals(t, func(user string, n int) {
		if n%7 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	})
	for _, flags := range []string{"--speed 1x", "--speed 10x", "--rate 5000/s", "--speed 10x --think"} {
		s.order, s.conns, s.at = map[string][]int{}, map[string][]string{}, map[string][]time.Time{}
		r := replay(t, "--per client "+flags, usersLog(t, 600, 20, time.Millisecond), s.URL).report
		if c := r.Counts; c.Scheduled != 600 || c.OK != 600 || len(s.order) != 20 || s.both != 0 {
			t.Errorf("%s: %+v, %d users, %d requests overtook an answer", flags, c, len(s.order), s.both)
		}
		for user, list := range s.order {
			if !slices.IsSorted(list) || len(list) != 30 || len(s.conns[user]) != 1 {
				t.Errorf("%s: %s on %d connections: %v", flags, user, len(s.conns[user]), list)
			}
		}
		if u := r.Extra["users"].(map[string]any); u["count"] != uint64(20) || u["connections_max"] != 20 {
			t.Errorf("%s: %v", flags, u)
		}
	}
}

// Each user of an archive sends the cookies and the token that the target gave it, not those of the
// log, and its recorded headers and bodies.
func TestSessions(t *testing.T) {
	var mu sync.Mutex
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		user := r.Header.Get("X-User")
		got = append(got, strings.Join([]string{user, r.URL.Path, r.Header.Get("Cookie"), r.Header.Get("Authorization"), string(body)}, "|"))
		if r.URL.Path == "/login" {
			w.Header().Set("Set-Cookie", "sid=s"+user+"; Path=/")
			fmt.Fprintf(w, `{"token":"t%s"}`, user)
		}
	}))
	defer s.Close()
	entry := func(user, method, path, body string, second int) string {
		return fmt.Sprintf(`{"startedDateTime":"2026-05-01T10:00:%02dZ","time":1,"request":{"method":%q,"url":"http://h%s","headers":[{"name":"X-User","value":%q},{"name":"Cookie","value":"sid=old; id=%s"},{"name":"Authorization","value":"Bearer old"}],"postData":{"mimeType":"text/plain","text":%q}},"response":{"status":200}}`, second, method, path, user, user, body)
	}
	log := write(t, `{"log":{"entries":[`+strings.Join([]string{
		entry("1", "POST", "/login", "a", 0), entry("2", "POST", "/login", "b", 1), entry("1", "GET", "/x", "", 2), entry("2", "GET", "/x", "", 3),
	}, ",")+`]}}`)
	want := []string{"1|/login|||a", "1|/x|sid=s1|Bearer t1|", "2|/login|||b", "2|/x|sid=s2|Bearer t2|"}
	for _, per := range []string{"header:X-User", "cookie:id"} {
		got = nil
		o, e, _ := command(t, "--speed 50x --methods GET,POST --session --per "+per, log, s.URL)
		if err := o.HTTP.Sessions.Captures.Set("token json token"); err != nil {
			t.Fatal(err)
		}
		if err := o.HTTP.Header.Set("Authorization: Bearer {{token}}"); err != nil {
			t.Fatal(err)
		}
		if err := o.HTTP.Sessions.Captures.Set("other header X-Other"); err != nil {
			t.Fatal(err)
		}
		r := played(t, o, e, log, s.URL).report
		u := r.Extra["users"].(map[string]any)
		if r.Counts.OK != 4 || u["without_value"] != uint64(2) || !slices.ContainsFunc(r.Warnings, func(w takt.Warning) bool {
			return w.Code == "value_unknown" && strings.Contains(w.Message, "for other:")
		}) {
			t.Errorf("%+v, %v, %v", r.Counts, u, r.Warnings)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q", per, got)
		}
	}
}

// What --per needs is said before the run.
func TestUserFaults(t *testing.T) {
	log := usersLog(t, 3, 1, time.Millisecond)
	for flags, want := range map[string]string{
		"--think": "--per client", "--session": "--per client", "--per client --h2": "HTTP/2", "--per client -c 3": "--max-in-flight",
		"--per client --rate 10/s --think": "keep one", "--per client --client net": "net/http", "--user-idle 3s": "--per client",
	} {
		_, _, faults := command(t, flags, log, "http://127.0.0.1:1/")
		if len(faults) != 1 || !strings.Contains(faults[0].Error(), want) {
			t.Errorf("%s: %v", flags, faults)
		}
	}
}

// A server that answers one user late delays nobody else, and that user's wait counts.
func TestUserThatWaits(t *testing.T) {
	s := newArrivals(t, func(user string, n int) {
		if user == "u0" {
			time.Sleep(100 * time.Millisecond)
		}
	})
	r := replay(t, "--per client", usersLog(t, 40, 4, time.Millisecond), s.URL).report
	if l := r.Latency["response"]; r.Counts.OK != 40 || l.Max < 900e3 || 4*l.P50 > l.Max || s.both != 0 {
		t.Errorf("%+v, response p50 %v, max %v", r.Counts, l.P50, l.Max)
	}
	r = replay(t, "--per client --think", usersLog(t, 40, 4, time.Millisecond), s.URL).report
	if l := r.Latency["response"]; r.Counts.OK != 40 || l.Max > 900e3 || l.Max < 100e3 || !r.Warned("users_slowed") || r.Warned("users_unknown") {
		t.Errorf("%+v, response max %v, %v", r.Counts, l.Max, r.Warnings)
	}
}

// A log without the user that --per names is replayed, with a word.
func TestUnknownUsers(t *testing.T) {
	s := newArrivals(t, func(string, int) {})
	r := replay(t, "--per cookie:id", usersLog(t, 8, 2, time.Millisecond), s.URL).report
	if u := r.Extra["users"].(map[string]any); u["without_user"] != uint64(8) || !r.Warned("users_unknown") || r.Warned("users_slowed") {
		t.Errorf("%v, %v", u, r.Warnings)
	}
	r = replay(t, "--per client", usersLog(t, 8, 2, time.Millisecond), s.URL).report
	if u := r.Extra["users"].(map[string]any); u["without_user"] != uint64(0) || r.Warned("users_unknown") {
		t.Errorf("%v, %v", u, r.Warnings)
	}
}

// A server that never answers one user, and closes every connection, costs nobody else anything.
func TestHostileServerForUsers(t *testing.T) {
	hang := make(chan struct{})
	s := newArrivals(t, func(user string, n int) {
		if user == "u0" {
			<-hang
		}
	})
	s.Config.SetKeepAlivesEnabled(false)
	defer close(hang)
	r := replay(t, "--per client --timeout 1s --drain 2s", usersLog(t, 80, 4, 5*time.Millisecond), s.URL).report
	c := r.Counts
	if c.OK != 60 || c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished || c.Failed == 0 || c.Unfinished < 15 || c.Sent > 64 {
		t.Errorf("%+v", c)
	}
	for user, list := range s.order {
		if !slices.IsSorted(list) || user != "u0" && len(list) != 20 {
			t.Errorf("%s: %v", user, list)
		}
	}
}

// With fewer connections than users, users take turns, each in order.
func TestMoreUsersThanConnections(t *testing.T) {
	s := newArrivals(t, func(string, int) {})
	r := replay(t, "--per client --max-in-flight 3", usersLog(t, 300, 30, time.Millisecond), s.URL).report
	u := r.Extra["users"].(map[string]any)
	if r.Counts.OK != 300 || u["connections_max"].(int) > 3 || !r.Warned("users_crowded") || s.both > 0 {
		t.Errorf("%+v, %v", r.Counts, u)
	}
	for user, list := range s.order {
		if !slices.IsSorted(list) || len(list) != 10 {
			t.Errorf("%s: %v", user, list)
		}
	}
}

// An idle user loses its connection, and gets another one.
func TestIdleUsers(t *testing.T) {
	s := newArrivals(t, func(string, int) {})
	r := replay(t, "--per client --user-idle 20ms", usersLog(t, 3, 1, 300*time.Millisecond), s.URL).report
	if u := r.Extra["users"].(map[string]any); r.Counts.OK != 3 || u["connections_idled"] != uint64(2) || u["count"] != uint64(1) || len(s.conns["u0"]) != 3 {
		t.Errorf("%+v, %v, %v", r.Counts, u, s.conns)
	}
}
