package http_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/test/h2test"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// h2Client is a client of HTTP/2 under test.
type h2Client struct{ client, engine string }

func (c h2Client) String() string { return c.client + " " + c.engine }

func (c h2Client) net() bool { return c.client == "net" }

// ofUsers are the connections of the users of a scenario, instead of an engine.
const ofUsers = "users"

// h2Clients are the clients that every scenario tests. The race detector is for takt's own.
func h2Clients() (list []h2Client) {
	if sock.Available {
		list = append(list, h2Client{"own", "loop"})
	}
	list = append(list, h2Client{"own", ofUsers})
	if !racetest.On {
		list = append(list, h2Client{"net", "worker"})
	}
	return list
}

// h2Load is how a scenario is loaded.
type h2Load struct {
	conns, streams int
	rate           string // "": closed loop
	requests       uint64
}

// h2Alone has one request at a time, so its counts are exact.
var h2Alone = h2Load{conns: 1, streams: 1, requests: 9}

// h2Loads are the others.
var h2Loads = []h2Load{
	{conns: 1, streams: 8, requests: 40},
	{conns: 4, streams: 8, requests: 40},
	{conns: 1, streams: 8, rate: "4000", requests: 40},
	{conns: 4, streams: 8, rate: "4000", requests: 40},
}

func (l h2Load) String() string {
	kind := "closed"
	if l.rate != "" {
		kind = "open"
	}
	return fmt.Sprintf("%s %dx%d", kind, l.conns, l.streams)
}

func (l h2Load) alone() bool { return l.conns*l.streams == 1 }

// h2Case is a scenario: a script, and what takt counts of it. Each run gets a script of its own.
type h2Case struct {
	name   string
	script func() h2test.Script
	change func(o *http.Options, e *engine.Options)
	want   h2Want // of h2Alone
	many   h2Want // of each of h2Loads; "": the same
	// What net/http's client counts instead, where that differs; in loads "" is as alone.
	net, netMany h2Want
	check        func(t *testing.T, r *h2Run) // of every run
	// net/http's client may be at fault itself, and then its counts do not matter: it uses a larger
	// limit shortly after it has acknowledged a smaller one.
	netFaults bool
}

// overTLS is the same script of a server with TLS.
func overTLS(script func() h2test.Script) func() h2test.Script {
	return func() h2test.Script {
		s := script()
		s.TLS = true
		return s
	}
}

// h2Run is a run that has ended, with its connections.
type h2Run struct {
	client h2Client
	load   h2Load
	server *h2test.Server
	report *takt.Report
}

func (c *h2Case) expects(client h2Client, load h2Load) h2Want {
	want, net := c.want, c.net
	if !load.alone() {
		want, net = cmp.Or(c.many, want), cmp.Or(c.netMany, net)
	}
	if client.net() {
		return cmp.Or(net, want)
	}
	return want
}

// everywhere is alone and in every load.
func everywhere() []h2Load { return append([]h2Load{h2Alone}, h2Loads...) }

// thin is fewer of these loads where they would take too long: net/http's client, whose behaviour is
// not ours, gets the first and the last one, and the race detector, with which a run takes ten times
// as long, the last one.
func thin(client h2Client, loads []h2Load) []h2Load {
	last := loads[len(loads)-1:]
	switch {
	case client.engine == ofUsers:
		return slices.DeleteFunc(slices.Clone(loads), func(l h2Load) bool { return !l.alone() })
	case racetest.On || len(loads) == 1:
		return last
	case client.net():
		return []h2Load{loads[0], last[0]}
	}
	return loads
}

// quietly drops what net/http's client logs of every wrong frame.
func quietly(t *testing.T) {
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
}

// runH2 runs a case with every client, in these loads.
func runH2(t *testing.T, c h2Case, loads ...h2Load) {
	for _, client := range h2Clients() {
		for _, load := range thin(client, loads) {
			c.start(t, client, load)
		}
	}
}

// start starts a subtest, unless the case leaves the client out.
func (c h2Case) start(t *testing.T, client h2Client, load h2Load) {
	if client.net() && c.net == leftOut {
		return
	}
	t.Run(fmt.Sprintf("%s/%v %v", c.name, client, load), func(t *testing.T) {
		t.Parallel()
		c.run(t, client, load)
	})
}

// netTries is how often a case runs with net/http's client until its counts are as expected: where the server
// goes away, that client loses an answer now and then on a busy machine. takt's own client has one try.
const netTries = 3

// mostSlack is the largest factor of a timeout. A busy machine answers late, so a run in which other
// operations time out than expected is made again with twice the timeout.
const mostSlack = 64

func (c *h2Case) run(t *testing.T, client h2Client, load h2Load) *h2Run {
	tries := 1
	if client.net() {
		tries = netTries
	}
	return c.try(t, client, load, tries, 1)
}

func (c *h2Case) try(t *testing.T, client h2Client, load h2Load, tries int, slack time.Duration) *h2Run {
	s := h2test.Start(t, c.script())
	r := &h2Run{client: client, load: load, server: s, report: c.make(t, s, client, load, slack)}
	if r.report == nil {
		return r
	}
	if client.net() {
		s.Settle(5 * time.Second) // it may leave one that goes away
	} else if !s.Settle(time.Minute) {
		t.Error("the client left a connection open")
	}
	if len(s.Faults()) > 0 && c.netFaults && client.net() {
		return r
	}
	for _, fault := range s.Faults() {
		t.Errorf("the server: %s", fault)
	}
	seen := s.Seen()
	if ok := r.report.Counts.OK; ok > uint64(seen.Answered) {
		t.Errorf("%d are ok, the server answered %d", ok, seen.Answered)
	}
	fault := c.expects(client, load).judge(r.report)
	if fault != "" && tries > 1 {
		t.Logf("once more: %s", fault)
		return c.try(t, client, load, tries-1, slack)
	}
	if fault != "" && slack < mostSlack && slices.ContainsFunc(r.report.Errors, func(e takt.ErrorClass) bool { return e.Class == engine.ClassTimeout }) {
		t.Logf("once more, with twice the timeout: %s", fault)
		return c.try(t, client, load, tries, 2*slack)
	}
	if fault != "" {
		t.Errorf("%s\nerrors %+v\nserver %d connections, %+v", fault, r.report.Errors, len(s.Conns()), seen)
	}
	if c.check != nil {
		c.check(t, r)
	}
	return r
}

// make makes the run, with slack times the timeout. It is nil if the target could not be reached, which is then what the
// scenario expects.
func (c *h2Case) make(t *testing.T, s *h2test.Server, client h2Client, load h2Load, slack time.Duration) *takt.Report {
	o := http.New()
	o.Client, o.HTTP2, o.HTTP2Connections, o.TLS.Insecure = client.client, true, load.conns, true
	o.HTTP2Streams = load.streams
	o.Timeout, o.ConnectTimeout = 5*time.Second, drivertest.Longest
	if strings.Contains(string(c.expects(client, load)), "timeout") {
		o.Timeout = 300 * time.Millisecond
	}
	p := drivertest.Plan(t, "http", o, func(e *engine.Options) {
		e.Engine, e.Requests, e.MaxInFlight = client.engine, load.requests, load.conns*load.streams
		e.Drain = engine.DrainOf(time.Minute)
		if load.rate != "" {
			e.Rate = engine.MustRate(load.rate)
		}
		if c.change != nil {
			c.change(o, e)
		}
		o.Timeout *= slack
		if client.engine == ofUsers {
			stepOf(t, o, e)
		}
	}, s.URL())
	if client.engine == ofUsers {
		p.Source, _ = o.Source(t.Context(), p.Source) // of a scenario it does not fail
	}
	type outcome struct {
		report *takt.Report
		err    error
	}
	made := make(chan outcome, 1)
	go func() {
		r, err := engine.Run(context.Background(), p)
		made <- outcome{r, err}
	}()
	select {
	case m := <-made:
		if m.err != nil {
			if fault := c.expects(client, load).unreachable(m.err); fault != "" {
				t.Error(fault)
			}
			return nil
		}
		if c := m.report.Counts; c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished || c.Scheduled != p.Requests {
			t.Errorf("counts do not add up to %d: %+v", p.Requests, c)
		}
		return m.report
	case <-time.After(2 * time.Minute):
		t.Fatalf("the run has not ended; the server has %+v", s.Seen())
		return nil
	}
}

// stepOf makes the one request of the options the only step of a scenario, for one user.
func stepOf(t *testing.T, o *http.Options, e *engine.Options) {
	if e.Engine = "auto"; e.Closed() {
		e.Connections, e.MaxInFlight = 1, engine.DefaultInFlight
	}
	o.HTTP2Connections, o.HTTP2Streams = 1, 0
	step := o.Method + " /\n@body " + o.Body + "\n"
	if e.Closed() {
		step = strings.Repeat(step+"@optional\n\n", int(e.Requests)) // on one connection
	}
	o.Scenario = write(t, "steps", step)
	o.Method, o.Body = "GET", ""
}

// h2Want is what a run counts, such as "6 ok, 3 malformed|closed". A class is ok, dropped,
// unfinished or one of failures; several with | count together. "3+ ok" is 3 or more, and a class
// alone any number. What is not listed must not occur. "anything" adds up. "error TEXT" is a run that
// ends before it begins, with an error that contains TEXT.
type h2Want string

const (
	allOK    h2Want = "9 ok"
	all40    h2Want = "40 ok"
	anything h2Want = "anything"
	leftOut  h2Want = "left out" // the scenario is not for this client
)

func (w h2Want) judge(r *takt.Report) string {
	got := map[string]uint64{"ok": r.Counts.OK, "dropped": r.Counts.Dropped, "unfinished": r.Counts.Unfinished}
	for _, e := range r.Errors {
		got[e.Class] += e.Count
	}
	maps.DeleteFunc(got, func(_ string, n uint64) bool { return n == 0 })
	if w.fits(maps.Clone(got)) {
		return ""
	}
	var text []string
	for _, class := range slices.Sorted(maps.Keys(got)) {
		text = append(text, fmt.Sprintf("%d %s", got[class], class))
	}
	return fmt.Sprintf("counts %s, want %s", strings.Join(text, ", "), w)
}

func (w h2Want) fits(got map[string]uint64) bool {
	if w == anything {
		return true
	}
	for term := range strings.SplitSeq(string(w), ", ") {
		number, classes, counted := strings.Cut(term, " ")
		if !counted {
			classes = term
		}
		var sum uint64
		for class := range strings.SplitSeq(classes, "|") {
			sum += got[class]
			delete(got, class)
		}
		least, open := strings.CutSuffix(number, "+")
		if n, err := strconv.ParseUint(least, 10, 64); counted && (err != nil || sum < n || sum > n && !open) {
			return false
		}
	}
	return len(got) == 0
}

func (w h2Want) unreachable(err error) string {
	text, wanted := strings.CutPrefix(string(w), "error ")
	if !wanted || !strings.Contains(err.Error(), text) {
		return fmt.Sprintf("the run ended with %q, want %s", err, w)
	}
	return ""
}

// A wanted count fits what it says, and nothing else.
func TestH2Want(t *testing.T) {
	for _, c := range []struct {
		want h2Want
		got  map[string]uint64
		fits bool
	}{
		{anything, map[string]uint64{"reset": 1}, true},
		{"2 ok", map[string]uint64{"ok": 2}, true},
		{"2 ok", map[string]uint64{"ok": 3}, false},
		{"2 ok", map[string]uint64{"ok": 2, "reset": 1}, false},
		{"2 ok", nil, false},
		{"2+ ok", map[string]uint64{"ok": 3}, true},
		{"2+ ok", map[string]uint64{"ok": 1}, false},
		{"ok, 3 reset|closed", map[string]uint64{"ok": 9, "reset": 1, "closed": 2}, true},
		{"ok, 3 reset|closed", map[string]uint64{"ok": 9, "reset": 1, "closed": 3}, false},
		{"error x", map[string]uint64{"ok": 1}, false},
	} {
		if c.want.fits(maps.Clone(c.got)) != c.fits {
			t.Errorf("%q fits %v: want %v", c.want, c.got, c.fits)
		}
	}
}
