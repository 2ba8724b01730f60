package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/takt"
)

// Connections that are no shards' do not disturb a fleet.
func TestStrangers(t *testing.T) {
	hello := func(body string, header ...string) string {
		return "POST /fleet HTTP/1.1\r\nHost: x\r\nUpgrade: takt-fleet\r\n" + strings.Join(header, "") + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body
	}
	inClear := NewToken()
	for name, c := range map[string]struct {
		token Token
		sends string
		want  string // in the answer
	}{
		"nothing":              {sends: "", want: ""},
		"no HTTP":              {sends: "hello\r\n\r\n", want: "409"},
		"a browser":            {sends: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", want: "this is the gatherer of a fleet"},
		"no JSON":              {sends: hello("x"), want: "400"},
		"another version":      {sends: hello(`{"version":"2"}`), want: `it is takt "2", and the gatherer is "1"`},
		"an endless header":    {sends: "POST /fleet HTTP/1.1\r\nX: " + strings.Repeat("x", 1<<20), want: "409"},
		"an endless body":      {sends: "POST /fleet HTTP/1.1\r\nHost: x\r\nUpgrade: takt-fleet\r\nContent-Length: 1000000000\r\n\r\n" + strings.Repeat("x", 1<<20), want: "400"},
		"half a request":       {sends: "POST /fleet HT", want: ""},
		"no token":             {token: NewToken(), sends: hello(`{"version":"1"}`), want: "it has no token"},
		"a token without TLS":  {token: NewToken(), sends: hello(`{"version":"1"}`, "Authorization: Bearer x\r\n"), want: "the token is missing or wrong"},
		"a token in the clear": {token: inClear, sends: hello(`{"version":"1"}`, "Authorization: Bearer "+string(inClear)+"\r\n"), want: "it sent the token without encryption"},
		"TLS that is none":     {token: NewToken(), sends: "\x16\x03\x01 nonsense nonsense", want: ""},
		"TLS without a token":  {sends: "\x16\x03\x01 nonsense", want: "it has a token, and this gatherer has none"},
		"a megabyte of zeroes": {sends: strings.Repeat("\x00", 1<<20), want: "409"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{Shards: 1, Token: c.token})
				mine, its := net.Pipe()
				w.l.next <- its
				go func() {
					_, _ = io.WriteString(mine, c.sends) // the gatherer may close the connection in the middle
				}()
				answer, _ := io.ReadAll(io.LimitReader(mine, 1<<16)) // what came is what counts
				mine.Close()
				if !strings.Contains(string(answer), c.want) {
					t.Errorf("the answer is %q, want %q", answer, c.want)
				}
				m, _, err := w.join(Join{Token: c.token})
				if err != nil {
					t.Fatalf("a shard cannot join: %v", err)
				}
				f, ended := &fake{Member: m, seconds: 2}, make(chan struct{})
				go func() { _ = f.serve(); close(ended) }()
				var seen []takt.Interval
				if whole, err := w.g.Run(t.Context(), load(&seen)); err != nil || whole.Counts.OK != 2 || whole.ID != "01WHOLE" || len(seen) != 2 {
					t.Errorf("a fleet of one: %v, %v, %v", whole, err, seen)
				}
				w.end(0)
				<-ended
			})
		})
	}
}

// A shard with the wrong token learns why it cannot join, also from a gatherer that has none.
func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		right, wrong := NewToken(), NewToken()
		for _, c := range []struct {
			gatherer, member Token
			want             string
		}{
			{right, right, ""},
			{right, wrong, "the gatherer does not have this token"},
			{right, "", "it has no token"},
			{"", "", ""},
			{"", right, "it has no token, and this shard has one"},
		} {
			w := newWorld(t, Options{Shards: 1, Token: c.gatherer})
			m, _, err := w.join(Join{Token: c.member, Patience: time.Second})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("gatherer %.5q, member %.5q: %v, want %q", c.gatherer, c.member, err, c.want)
			}
			w.end(0)
			if m != nil {
				<-m.gone
			}
		}
	})
}

// A member tries again until its gatherer is there, and does not wait for what never comes.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			faults []error // of the attempts, the last one of all others
			tries  int
			told   bool
		}{
			{[]error{&net.AddrError{Err: "too many colons in address", Addr: "http://gen0:8400"}}, 1, false},
			{[]error{&net.DNSError{Err: "no such host", Name: "gen0", IsNotFound: true}, syscall.ECONNREFUSED, syscall.EACCES}, 3, true},
			{[]error{syscall.ECONNREFUSED}, 5, true},
		} {
			tries, told := 0, false
			_, err := Dial(t.Context(), Join{
				Patience: 4 * retry, Waiting: func(error) { told = true },
				Dial: func(context.Context) (net.Conn, error) {
					tries++
					return nil, &net.OpError{Op: "dial", Err: c.faults[min(tries, len(c.faults))-1]}
				},
			})
			if err == nil || tries < c.tries || tries > c.tries+1 || told != c.told {
				t.Errorf("%v: %d attempts, %v", c.faults, tries, err)
			}
		}
	})
}

// A member that says what no member says costs its own part only.
func FuzzLines(f *testing.F) {
	for _, line := range []toGatherer{
		{}, {Round: 1, Armed: true}, {Round: 1, Over: &over{}}, {Round: 1, Over: &over{Early: "x"}}, {Round: 7, Over: &over{}},
		{Round: 1, Report: []byte("{}")}, {Round: 1, Ready: &Ready{Head: live.Head{End: -1}}}, {Round: 1, Failed: &Failure{2, "x"}}, {Clock: &Offset{}}, {Clock: &Offset{Bound: -1}},
		{Round: 1, Second: &live.Snapshot{Interval: takt.Interval{T: 1e300}}}, {Round: 1, Second: &live.Snapshot{Interval: takt.Interval{T: -1, HDR: "x"}}},
	} {
		text, err := json.Marshal(line)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("x")
	f.Add(`{"round":1,"over":{}}` + "\n" + `{"round":1,"report":{"schema_version":1}}`)
	f.Fuzz(func(t *testing.T, lines string) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options{Shards: 3})
			all, ended := w.fleetOf(2, 3, nil)
			mine, its := net.Pipe()
			w.l.next <- its
			request, err := Hello{Version: "1"}.request("x", "")
			if err != nil {
				t.Fatal(err)
			}
			go io.Copy(io.Discard, mine)
			if err := request.Write(mine); err != nil {
				t.Fatal(err)
			}
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				time.Sleep(time.Second)
				zero := int64(0)
				for _, line := range []any{toGatherer{Asks: &zero}, toGatherer{Clock: &Offset{Bound: 1}}, toGatherer{Round: 1, Ready: &Ready{Head: live.Head{End: 3e9}}}, toGatherer{Round: 1, Armed: true}} {
					text, _ := json.Marshal(line)
					_, _ = mine.Write(append(text, '\n'))
					time.Sleep(time.Millisecond) // until the start is known
				}
				time.Sleep(3 * time.Second)
				_, _ = io.WriteString(mine, lines+"\n")
				time.Sleep(time.Minute)
				mine.Close()
			}()
			var seen []takt.Interval
			began := time.Now()
			whole, err := w.g.Run(t.Context(), load(&seen))
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("it took %v", took)
			}
			if err == nil && whole.Verdict == takt.Valid {
				t.Errorf("the report is valid: %v", whole.Counts)
			}
			w.end(1)
			mine.Close()
			for _, f := range all {
				f.Close()
			}
			ended.Wait()
			<-gone
		})
	})
}

// days makes a report one of a run of a day.
func days(r *takt.Report) {
	r.DurationS = 86400
	r.Rate.Achieved = float64(r.Counts.OK) / r.DurationS
}

// A member that contradicts itself is lost, and named. It learns why, and no other member pays for it:
// the figures are those of the others.
func TestLies(t *testing.T) {
	const n, liar = 4, 2
	for name, c := range map[string]struct {
		change func(f *fake)
		want   string
		early  bool // the run ends at the lie
	}{
		"a count": {func(f *fake) {
			f.lies = func(r *takt.Report) { r.Counts.OK += 1e6; r.Counts.Sent += 1e6; r.Counts.Scheduled += 1e6 }
		}, "its report cannot be used: the report contradicts itself: rate_per_s.intended is 1, 3 operations in duration_s, but counts.scheduled is 1000003", false},
		"a histogram": {func(f *fake) {
			f.lies = func(r *takt.Report) {
				l := r.Latency[takt.LatencyResponse]
				l.P99 = 7
				r.Latency[takt.LatencyResponse] = l
			}
		}, "its report cannot be used: the report contradicts itself: latency.response.p99_us is 7, but its histogram says", false},
		"a second's count":      {func(f *fake) { f.fibs = func(iv *takt.Interval) { iv.OK += 1e6 } }, "the second that ends at 1.0 s contradicts itself: interval.ok and interval.failed are 1000001 together, but its histogram holds 1 response times", true},
		"a second's histogram":  {func(f *fake) { f.fibs = func(iv *takt.Interval) { iv.HDR = "x" } }, "interval.hdr: ", true},
		"a second's percentile": {func(f *fake) { f.fibs = func(iv *takt.Interval) { iv.ResponseP99 = 7e6 } }, "interval.response_p99_us is 7e+06, but its histogram says", true},
		"a second of the past":  {func(f *fake) { f.fibs = func(iv *takt.Interval) { iv.T = 2.5 - iv.T } }, "t_s is 0.5, but the interval before ends at 1.5", true},
		"seconds of failures":   {func(f *fake) { f.fibs = func(iv *takt.Interval) { iv.OK, iv.Failed = 0, 1 } }, "its report cannot be used: its seconds have 0 ok operations, and the intervals of its report have 3", false},
		"nothing in seconds":    {func(f *fake) { f.fibs = func(iv *takt.Interval) { *iv = takt.Interval{T: iv.T} } }, "its seconds have 0 scheduled operations, and the intervals of its report have 3", false},
		"a second of tomorrow":  {func(f *fake) { f.fibs = func(iv *takt.Interval) { iv.T += 86400 } }, "it sent the second that ends at 86401.0 s after 1.0 s", true},
		"a second of no time":   {func(f *fake) { f.fibs = func(iv *takt.Interval) { iv.T = 1e300 } }, "the second that ends at 1e+300 s contradicts itself: ", true},
		"days":                  {func(f *fake) { f.lies = days }, "its report cannot be used: it is of a run of 86400 s, longer than the ", false},
		"many in a second":      {func(f *fake) { f.fibs = func(iv *takt.Interval) { iv.T = 0 } }, "it sent 3 seconds until 0.0 s", true},
		"a novel":               {func(f *fake) { f.lies = func(r *takt.Report) { r.Extra["novel"] = strings.Repeat("x", 8<<20) } }, "bytes besides its latencies and intervals, more than 4194304", false},
		"an endless count":      {func(f *fake) { f.fibs = func(iv *takt.Interval) { iv.OK = 1<<64 - 1 } }, "interval.ok is 18446744073709551615, above 2^53", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{Shards: n})
				all, ended := w.fleetOf(n, 3, func(k int, f *fake) {
					if k == liar {
						c.change(f)
					}
				})
				var seen []takt.Interval
				whole, err := w.g.Run(t.Context(), load(&seen))
				synctest.Wait()
				named := "shard 2/4 (h) was lost: "
				lost := (*LostError)(nil)
				if !errors.As(err, &lost) || !strings.HasPrefix(lost.Reason, named) || !strings.Contains(lost.Reason, c.want) || strings.Count(lost.Reason, "was lost") != 1 {
					t.Errorf("the error is %v, want %q", err, named+c.want)
				}
				if most := uint64(3 * (n - 1)); whole == nil || whole.Verdict != takt.Invalid || whole.Counts.OK > most || whole.Counts.OK == 0 || !c.early && whole.Counts.OK != most {
					t.Errorf("the whole has %+v", whole)
				}
				for _, iv := range seen {
					if iv.OK > n || iv.ResponseP99 > 1e6 {
						t.Errorf("the lie is in the live second %+v", iv)
					}
				}
				w.end(1)
				ended.Wait()
				for k, f := range all {
					gaveUp := (*GivenUpError)(nil)
					if learns := errors.As(f.failed, &gaveUp); learns != (k+1 == liar) || learns && !strings.Contains(gaveUp.Reason, c.want) || !learns && f.reports != 1 {
						t.Errorf("shard %s delivered %d reports, %v", f.Shard, f.reports, f.failed)
					}
				}
			})
		})
	}
}

// A member whose clock is hardly known cannot delay the start of all: it leaves its place at once. After
// the start is known, a rough estimate changes nothing.
func TestUnknownClocks(t *testing.T) {
	for bound, want := range map[time.Duration]string{
		1e15:      "its clock is known within 277h46m40s only, and a common start needs 250ms",
		mostBound: "",
		0:         "its clock is known within 0s, which cannot be",
		-1:        "its clock is known within -1ns, which cannot be",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options{Shards: 2})
			all, ended := w.fleetOf(1, 20, func(_ int, f *fake) {
				f.at(5, func() { _ = f.stream.send(toGatherer{Clock: &Offset{At: 1, Bound: 1e15}}, silence) })
			})
			m, _, err := w.join(Join{})
			if err != nil {
				t.Fatal(err)
			}
			var seen []takt.Interval
			var whole *takt.Report
			began, over := time.Now(), make(chan struct{})
			go func() {
				defer close(over)
				whole, err = w.g.Run(t.Context(), load(&seen))
			}()
			time.Sleep(time.Second)
			_ = m.stream.send(toGatherer{Clock: &Offset{At: 1, Bound: bound}}, silence) // the answer counts
			if want != "" {
				_ = m.stream.send(toGatherer{Round: 1, Failed: &Failure{1, "and so shall all"}}, silence) // nobody listens to it any more
			}
			synctest.Wait()
			gaveUp := (*GivenUpError)(nil)
			if why := m.lost(); (want == "") != (why == nil) || why != nil && (!errors.As(why, &gaveUp) || !strings.Contains(gaveUp.Reason, want)) {
				t.Errorf("a bound of %v: %v, want %q", bound, why, want)
			}
			m.Close()
			if r, _ := m.Next(t.Context()); r != nil {
				r.over()
			}
			time.Sleep(10 * time.Second)
			w.another(20, nil, ended)
			<-over
			if err != nil || whole.Counts.OK != 40 || all[0].starts[0].Sub(began) > 15*time.Second {
				t.Errorf("after a bound of %v: %v, %v", bound, whole, err)
			}
			w.end(0)
			ended.Wait()
		})
	}
}

// Texts of members and strangers reach the user without what a terminal acts on.
func TestForeignTexts(t *testing.T) {
	const nasty, shown = "\x1b]0;owned\a\u202egnp\u009b2J\nfake", "·]0;owned··gnp·2J fake"
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 2})
		for _, host := range []string{nasty, strings.Repeat("x", 10_000)} {
			m, _, err := w.join(Join{Hello: Hello{Host: host}})
			if err != nil {
				t.Fatal(err)
			}
			f, ended := &fake{Member: m, seconds: 1, lies: func(r *takt.Report) { r.ID, r.Schedule.RunGroup = nasty, "" }}, make(chan struct{})
			if host != nasty {
				f.early = nasty
			}
			go func() { _ = f.serve(); close(ended) }()
			defer func() { <-ended }()
		}
		_, _, err := w.join(Join{Hello: Hello{Host: nasty}}) // one too many
		if err == nil {
			t.Error("a third shard joined")
		}
		var seen []takt.Interval
		_, err = w.g.Run(t.Context(), load(&seen))
		synctest.Wait()
		for what, text := range map[string]string{"told": w.told(), "the error": fmt.Sprint(err)} {
			if strings.Count(text, shown) < 2 || strings.ContainsAny(text, "\x1b\a\u202e\u009b") || len(text) > 3000 {
				t.Errorf("%s: %q", what, text)
			}
		}
		w.end(1)
	})
}

// Connections that say nothing keep no shard out, from their address or another one.
func TestSilentCrowd(t *testing.T) {
	for _, token := range []Token{"", NewToken()} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options{Shards: 1, Token: token})
			var crowd []net.Conn
			for range 4 * maxGuests {
				mine, its := net.Pipe()
				w.l.next <- its
				crowd = append(crowd, mine)
				synctest.Wait()
			}
			began := time.Now()
			m, _, err := w.join(Join{Token: token})
			if err != nil || time.Since(began) > 0 {
				t.Errorf("a shard joined after %v: %v", time.Since(began), err)
			}
			time.Sleep(2 * greet)
			synctest.Wait()
			if n := w.g.lobby.Len(); n > 0 {
				t.Errorf("%d connections wait", n)
			}
			for _, c := range crowd {
				if _, err := c.Read(make([]byte, 1)); err == nil {
					t.Error("a silent connection is open")
				}
			}
			w.end(0)
			if m != nil {
				<-m.gone
			}
		})
	}
}

// Only a report may be long, and only once the gatherer has a place for it.
func TestLongLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 1})
		m, _, err := w.join(Join{})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = m.stream.raw.Write([]byte(`{"report":"` + strings.Repeat("x", maxShort) + `"}` + "\n"))
		}()
		synctest.Wait()
		if err := m.lost(); err == nil || !strings.Contains(w.told(), errLong.Error()) {
			t.Errorf("a long line: %v, %s", err, w.told())
		}
		m.Close()
		time.Sleep(10 * time.Second)
		all, ended := w.fleetOf(1, 2, func(_ int, f *fake) {
			f.lies = func(r *takt.Report) { r.Extra["long"] = strings.Repeat("x", 2*maxShort) }
		})
		var seen []takt.Interval
		if whole, err := w.g.Run(t.Context(), load(&seen)); err != nil || whole.Counts.OK != 2 {
			t.Errorf("a long report: %v, %v", whole, err)
		}
		w.end(0)
		ended.Wait()
		if all[0].reports != 1 {
			t.Errorf("%d reports, %v", all[0].reports, all[0].failed)
		}
	})
}

// Members that keep the others waiting are lost after a time that does not depend on what they say, and the reports of
// the others are merged meanwhile.
func TestEndless(t *testing.T) {
	const n, liars = 4, 2
	slow := func(f *fake) { f.slow = longestRun / 2 }
	for name, c := range map[string]struct {
		change func(f *fake)
		end    time.Duration // that the gatherer knows; 0: none
		signal time.Duration // when a signal ends the run; 0: none does
		want   string
	}{
		"a long end":                     {slow, 10 * time.Second, 0, "it has not reported 31s after the end of its run"},
		"a long end, and nobody knows":   {slow, 0, 0, "no second of its run has come for 31s"},
		"a long end, and a signal":       {slow, 0, 10 * time.Second, "it has not reported 31s after the end of its run"},
		"the end without a report":       {func(f *fake) { f.ends = &over{} }, 10 * time.Second, 0, "its report has not come 15s after the gatherer asked for it"},
		"an early end without a report":  {func(f *fake) { f.ends = &over{Early: "so"} }, 0, 0, "was lost: so"},
		"the end, and nobody knows when": {func(f *fake) { f.ends = &over{} }, 0, 0, "its report has not come 15s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{Shards: n})
				all, ended := w.fleetOf(n, 3, func(k int, f *fake) {
					if k <= liars {
						c.change(f)
					}
				})
				ctx := t.Context()
				if c.signal > 0 {
					var cancel func()
					ctx, cancel = context.WithTimeout(ctx, c.signal)
					defer cancel()
				}
				began := time.Now()
				var seen []takt.Interval
				l := load(&seen)
				l.End = c.end
				defer time.AfterFunc(10*time.Minute, func() { // a gatherer that waits for ever ends here
					for _, f := range all {
						f.Close()
					}
				}).Stop()
				whole, err := w.g.Run(ctx, l)
				lost := (*LostError)(nil)
				if took := time.Since(began); !errors.As(err, &lost) || took > time.Minute {
					t.Fatalf("after %v: %v", took, err)
				}
				for _, named := range []string{"shard 1/4 (h) was lost: ", "shard 2/4 (h) was lost: "} {
					if !strings.Contains(lost.Reason, named) {
						t.Errorf("%s does not name %s", lost.Reason, named)
					}
				}
				if !strings.Contains(lost.Reason, c.want) || strings.Count(lost.Reason, "was lost") != liars {
					t.Errorf("the error is %v, want %q", lost, c.want)
				}
				// An early end ends the others, too, at the instant at which their last second ends.
				least := uint64(3 * (n - liars))
				if strings.HasPrefix(name, "an early end") {
					least = 2 * (n - liars)
				}
				if whole == nil || whole.Counts.OK < least || whole.Counts.OK > 3*(n-liars) || whole.Verdict != takt.Invalid {
					t.Errorf("the whole has %+v", whole)
				}
				w.end(1)
				ended.Wait()
				for k, f := range all {
					if f.reports == 1 == (k < liars) {
						t.Errorf("shard %s delivered %d reports, %v", f.Shard, f.reports, f.failed)
					}
				}
			})
		})
	}
}

// A report must be of the load that was asked for, as far as the gatherer knows it.
func TestBelieve(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *takt.Report)
		want   string
	}{
		"the truth":             {func(*takt.Report) {}, ""},
		"another engine":        {func(r *takt.Report) { r.Variables["engine"] = "loop" }, ""},
		"another shard":         {func(r *takt.Report) { r.Schedule.Shard = "3/4" }, `it is that of shard "3/4"`},
		"the number of shards":  {func(r *takt.Report) { r.Schedule.Shard = "2/5" }, `it is that of shard "2/5"`},
		"a rate":                {func(r *takt.Report) { r.Schedule.RatePerS = 9 }, "it differs in schedule.rate_per_s (9, not 4)"},
		"a seed":                {func(r *takt.Report) { r.Schedule.Seed = 9 }, "it differs in schedule.seed (9, not 0)"},
		"a profile":             {func(r *takt.Report) { r.Schedule.Profile = "closed" }, `it differs in schedule.profile ("closed", not "constant")`},
		"stages":                {func(r *takt.Report) { r.Schedule.Stages = []takt.Stage{{DurationS: 1}} }, "it differs in schedule.stages"},
		"another run":           {func(r *takt.Report) { r.Schedule.RunGroup = "other" }, `it differs in run_group ("other", not "group")`},
		"a kind":                {func(r *takt.Report) { r.Kind = "kafka" }, `it differs in kind ("kafka", not "http")`},
		"a version":             {func(r *takt.Report) { r.Tool.Version = "2" }, `it differs in tool ("takt 2", not "takt 1")`},
		"a schema":              {func(r *takt.Report) { r.SchemaVersion = 7 }, "it differs in schema_version (7, not 1)"},
		"a warm-up":             {func(r *takt.Report) { r.WarmupS = 1 }, "it differs in warmup_s (1, not 0)"},
		"a variable":            {func(r *takt.Report) { r.Variables["host"] = "x" }, `it differs in variable host ("x", not none)`},
		"a bound":               {func(r *takt.Report) { r.Variables["connections"] = 7 }, "it differs in variable connections (7, not none)"},
		"an id":                 {func(r *takt.Report) { r.ID = "\x1b[2J" }, `its id is "\x1b[2J", which takt does not write`},
		"a long engine":         {func(r *takt.Report) { r.Generator.Engine = strings.Repeat("x", 1000) }, `its generator.engine is "xxx`},
		"days":                  {func(r *takt.Report) { r.DurationS = 3 * 86400 }, "it is of a run of 259200 s, longer than the 3s that it had"},
		"too many operations":   {func(r *takt.Report) { r.Counts.Scheduled = 5 }, "it has 5 operations, and its part of the load has 4 at most"},
		"too many of a warm-up": {func(r *takt.Report) { r.WarmupCounts.Scheduled = 2 }, "it has 5 operations, and its part of the load has 4 at most"},
	} {
		l := load(nil)
		l.End, l.Most = 3*time.Second, 4
		r := round{load: l, begun: time.Now()}
		report := reportOf("2/4", []string{"group"}, 3)
		c.change(report)
		if err := r.believe("2/4", report); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	r := round{load: load(nil), begun: time.Now()} // of a load whose end nobody knows
	for seconds, fine := range map[int]bool{3: true, 3 * 86400: false} {
		report := reportOf("2/4", []string{"group"}, 0)
		report.DurationS = float64(seconds)
		if err := r.believe("2/4", report); (err == nil) != fine {
			t.Errorf("%d s: %v", seconds, err)
		}
	}
}

// A lie that comes first is no rule for the others.
func TestFirstLie(t *testing.T) {
	for name, lie := range map[string]func(r *takt.Report){
		"a rate":           func(r *takt.Report) { r.Schedule.RatePerS = 9 },
		"intervals of 3 s": func(r *takt.Report) { r.IntervalS = 3 },
		"a variable":       func(r *takt.Report) { r.Variables["path"] = "/x" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{Shards: 3, Spare: 1})
				_, ended := w.fleetOf(3, 3, func(k int, f *fake) {
					f.lies = func(r *takt.Report) { r.Labels = map[string]string{"rack": f.Shard} } // the whole has the gatherer's
					if k == 1 {
						f.seconds, f.lies = 1, lie
					}
				})
				var seen []takt.Interval
				whole, err := w.g.Run(t.Context(), load(&seen))
				if err != nil || whole.Counts.OK != 2*3 || len(whole.Labels) > 0 || !strings.Contains(w.told(), "shard 1/3 (h) was lost: its report cannot be used") {
					t.Errorf("%v, %v\n%s", whole, err, w.told())
				}
				w.end(0)
				ended.Wait()
			})
		})
	}
}

// A member that cannot make its run decides neither that the fleet ends well, nor that its load was judged.
func TestCodeOfFailure(t *testing.T) {
	for said, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 1, 6: 1, 130: 1, -1: 1, 256: 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options{Shards: 1})
			m, _, err := w.join(Join{})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				if r, err := m.Next(context.Background()); err == nil && r != nil {
					r.Fail(Failure{said, "so"})
				}
			}()
			_, err = w.g.Run(t.Context(), load(nil))
			failed := (*FailedError)(nil)
			if !errors.As(err, &failed) || failed.Code != want {
				t.Errorf("a failure with the code %d: %+v", said, err)
			}
			w.end(1)
			<-m.gone
		})
	}
}

// A wrong clock changes nothing, and the user learns of it. A clock does not jump.
func TestClocksOfLiars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 1})
		m, _, err := w.join(Join{Clock: crooked{began: time.Now(), ahead: 72 * time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := m.lost(); err != nil || !strings.Contains(w.told(), "is 72h0m0s ahead; the start is the same for all") {
			t.Errorf("%v\n%s", err, w.told())
		}
		_ = m.stream.send(toGatherer{Clock: &Offset{At: 1, Bound: 1}}, silence) // the answer counts
		synctest.Wait()
		if err, want := m.lost(), "it says that its clock moved by 72h0m0s within 1m0s"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		m.Close()
		w.end(0)
	})
}

// Connections that are refused and do not read the reason cost a bounded number of goroutines, and keep no shard out.
func TestRefusedCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 1})
		before := runtime.NumGoroutine()
		slow, its := net.Pipe()
		w.l.next <- its
		if _, err := io.WriteString(slow, "POST /fleet"); err != nil {
			t.Fatal(err)
		}
		for range 3 * maxGuests {
			mine, its := net.Pipe()
			w.l.next <- its
			if _, err := io.WriteString(mine, "no HTTP\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if n := runtime.NumGoroutine() - before; n > 4*maxGuests {
			t.Errorf("%d goroutines", n)
		}
		if _, err := io.WriteString(slow, " HTTP/1.1\r\n"); err != nil {
			t.Errorf("one that was not refused was evicted: %v", err)
		}
		began := time.Now()
		m, _, err := w.join(Join{})
		if err != nil || time.Since(began) > 0 {
			t.Errorf("a shard joined after %v: %v", time.Since(began), err)
		}
		w.end(0)
		<-m.gone
		time.Sleep(2 * greet)
	})
}

// A member that comes and goes does not fill the user's screen.
func TestComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 1})
		for range 10 * mostRefused {
			m, _, err := w.join(Join{})
			if err != nil {
				t.Fatal(err)
			}
			m.Close()
			time.Sleep(beat)
		}
		if lines := strings.Count(w.told(), "\n"); lines > 3*mostRefused {
			t.Errorf("%d lines", lines)
		}
		w.end(0)
	})
}

// The error names what each shard lacks, whatever that is: a member that asks for the time with a wrong stamp gets
// ready without a clock.
func TestAbsent(t *testing.T) {
	g := &Gatherer{Options: Options{Shards: 4, Patience: time.Minute}}
	g.peers = map[int]*peer{
		1: {g: g, k: 1, last: Offset{Bound: 1}, state: state{ready: &Ready{}}}, 2: {g: g, k: 2}, 3: {g: g, k: 3, state: state{ready: &Ready{}}},
	}
	const want = "after 1m0s 3 of 4 shards have joined; 4/4 is missing, and %s has joined but not got ready, and %s has not compared clocks; look at "
	if err, want := g.absent().Error(), fmt.Sprintf(want, g.peers[2].called(), g.peers[3].called()); !strings.HasPrefix(err, want) {
		t.Errorf("%s, want %s", err, want)
	}
}
