package replay

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
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
