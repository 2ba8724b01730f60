package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
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
