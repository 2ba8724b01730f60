package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/pkg/takt"
)

// A member that says before the start what cannot be leaves its place, and learns why.
func TestNonsenseOfMember(t *testing.T) {
	for want, line := range map[string]toGatherer{
		"it confirmed a start before it was ready and knew the start": {Round: 1, Armed: true},
		"it says that two clocks are 2500000h0m0s apart":              {Clock: &Offset{At: 1, Ahead: -9e18, Bound: 1}},
		"it sent a report before it was asked for it":                 {Round: 1, Report: []byte("{}")},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options{Shards: 2})
			m, _, err := w.join(Join{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = w.g.Run(ctx, load(new([]takt.Interval))) // no other member comes
			}()
			time.Sleep(time.Second)
			_ = m.stream.send(line, silence) // the answer counts
			synctest.Wait()
			gaveUp := (*GivenUpError)(nil)
			if why := m.lost(); !errors.As(why, &gaveUp) || !strings.Contains(gaveUp.Reason, want) || !strings.Contains(w.told(), want) {
				t.Errorf("%v, %s, want %s", why, w.told(), want)
			}
			cancel()
			<-over
			m.Close()
			if r, _ := m.Next(t.Context()); r != nil {
				r.over()
			}
			w.end(1)
		})
	}
}

// A second report of a member is refused, and its first one counts.
func TestReportTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 2})
		all, ended := w.fleetOf(2, 3, func(k int, f *fake) {
			if k == 2 {
				f.seconds = 10
			}
		})
		over := make(chan struct{})
		var whole *takt.Report
		var err error
		go func() {
			defer close(over)
			whole, err = w.g.Run(t.Context(), load(new([]takt.Interval)))
		}()
		time.Sleep(8 * time.Second)
		synctest.Wait()
		if all[0].reports != 1 {
			t.Fatalf("%d reports", all[0].reports)
		}
		_ = all[0].stream.send(toGatherer{Round: 1, Report: []byte("{}")}, silence)
		<-over
		const want = "it sent its report twice"
		if told := w.told(); err != nil || whole.Counts.OK != 13 || !strings.Contains(told, "shard 1/2 (h) is gone: "+want+"; its report counts") {
			t.Errorf("%v, %v, %s", whole, err, told)
		}
		gaveUp := (*GivenUpError)(nil)
		if why := all[0].lost(); !errors.As(why, &gaveUp) || gaveUp.Reason != want {
			t.Errorf("the member learns %v", why)
		}
		w.end(0)
		ended.Wait()
	})
}

// saying is a gatherer whose clock is so far ahead, and that says some lines.
func saying(its net.Conn, ahead int64, lines ...toMember) {
	defer its.Close()
	in := bufio.NewReader(its)
	request, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, request.Body)
	_, _ = io.WriteString(its, switched)
	out := json.NewEncoder(its)
	for _, line := range lines {
		_ = out.Encode(line)
	}
	for from := json.NewDecoder(in); ; {
		var line toGatherer
		if from.Decode(&line) != nil {
			return
		}
		if line.Asks != nil {
			_ = out.Encode(toMember{Clock: &reading{*line.Asks, *line.Asks + ahead, *line.Asks + ahead}})
		}
	}
}

// A gatherer that says what cannot be is named, and left.
func TestNonsenseOfGatherer(t *testing.T) {
	shard := func(k string, n int) toMember { return toMember{Welcome: &welcome{k, n}} }
	start := time.Date(2096, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	for name, c := range map[string]struct {
		ahead int64
		lines []toMember
		want  string
	}{
		"no shard":           {0, []toMember{shard("0/0", 0)}, `it says that this is shard "0/0" of 0, which cannot be`},
		"a shard beyond all": {0, []toMember{shard("3/2", 2)}, `it says that this is shard "3/2" of 2`},
		"another number":     {0, []toMember{shard("1/2", 3)}, `it says that this is shard "1/2" of 3`},
		"no name":            {0, []toMember{shard("1/2x", 2)}, `it says that this is shard "1/2x" of 2`},
		"too many":           {0, []toMember{shard("1/9000000000000000000", 9e18)}, `it says that this is shard "1/900`},
		"a start in 2096":    {0, []toMember{shard("1/2", 2), {Round: 1, Words: []string{"http"}}, {Round: 1, Start: &start}}, "it says that the run starts at 2096-01-01T00:00:00Z, which is too far away"},
		"a clock":            {9e18, []toMember{shard("1/2", 2)}, "it says that two clocks are 2500000h0m0s apart, which cannot be"},
		"a clock of before":  {math.MinInt64, []toMember{shard("1/2", 2)}, "it says that two clocks are "},
	} {
		synctest.Test(t, func(t *testing.T) {
			mine, its := net.Pipe()
			go saying(its, c.ahead, c.lines...)
			m, err := Dial(t.Context(), Join{
				Hello: Hello{Version: "1"},
				Dial:  func(context.Context) (net.Conn, error) { return mine, nil },
				Peer:  func(context.Context, net.Conn) (door.Peer, error) { return door.PeerSelf, nil },
			})
			if err == nil {
				var r *Run
				if r, err = m.Next(t.Context()); r != nil {
					<-r.Context.Done()
					err = context.Cause(r.Context)
					r.over()
				}
				m.Close()
			}
			nonsense := (*NonsenseError)(nil)
			if !errors.As(err, &nonsense) || !strings.HasPrefix(err.Error(), "the gatherer is not to be believed: "+c.want) || !strings.HasSuffix(err.Error(), "; check --fleet") {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		})
	}
}
