package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// Calls of takt grpc end as docs/grpc.md says, whatever the target does: TAKT_SEEDS for more.
func TestCalls(t *testing.T) {
	from, to := seeds(t, racetest.Some(20))
	var sum Sum
	for seed := from; seed <= to; seed++ {
		sc := generate(seed)
		for other := seed << 32; !sc.shared(); other++ {
			sc = generate(other)
		}
		if !sc.GRPC {
			sc.calls(rand.New(rand.NewPCG(seed, 1)))
		}
		o := run(seed, sc)
		sum.Add(o)
		if len(o.Faults) > 0 {
			t.Fatal(o, "\n", Shrink(o))
		}
	}
	t.Log(&sum)
}

// spoken is a run of takt grpc without a fault.
func spoken() *Scenario {
	return &Scenario{
		Mode: modeH2, Rate: 400, Duration: 100 * time.Millisecond, Loops: 1, InFlight: 100, Room: unbounded, Drain: time.Second, Timeout: time.Second,
		ConnectTimeout: time.Second, Service: time.Millisecond, Conns: 1, Streams: 100, GRPC: true, Sends: 2,
	}
}

// The oracle of takt grpc detects wrong counts of messages, classes, statuses and instants.
func TestOracleOfCalls(t *testing.T) {
	figure := func(name string) func(*checker, *takt.Report) {
		return func(_ *checker, rep *takt.Report) {
			x := rep.Extra[tokens.CallsKey].(map[string]any)
			x[name] = x[name].(float64) + 1
		}
	}
	row := func(class string, change func(r *takt.Sample)) func(*checker, *takt.Report) {
		return func(k *checker, _ *takt.Report) {
			for i := range k.rows {
				if r := &k.rows[i]; r.Class == class {
					change(r)
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		kind   string
		change func(sc *Scenario)
		spoil  func(*checker, *takt.Report)
	}{
		"messages sent":       {"messages", nil, figure("messages_sent")},
		"messages received":   {"messages", nil, figure("messages_received")},
		"no messages":         {"messages", nil, func(_ *checker, rep *takt.Report) { delete(rep.Extra, tokens.CallsKey) }},
		"a good call":         {"class", nil, row("", func(r *takt.Sample) { r.Class = "not_found" })},
		"a failed call":       {"class", func(sc *Scenario) { sc.Wrong = 0.5 }, row("no_status", func(r *takt.Sample) { r.Class = "" })},
		"half a message":      {"class", func(sc *Scenario) { sc.Wrong = 0.8 }, row("truncated", func(r *takt.Sample) { r.Class = "no_status" })},
		"a broken call":       {"class", func(sc *Scenario) { sc.Wrong = 0.5 }, row("malformed", func(r *takt.Sample) { r.Class = "internal" })},
		"a code":              {"answer", nil, row("", func(r *takt.Sample) { r.Status = 5 })},
		"an instant":          {"done", nil, row("", func(r *takt.Sample) { r.Done += time.Millisecond })},
		"a reset":             {"class", func(sc *Scenario) { sc.StreamResets = 0.5 }, row("reset", func(r *takt.Sample) { r.Class = "unavailable" })},
		"a deadline":          {"class", silent, row("deadline_exceeded", func(r *takt.Sample) { r.Class = "reset" })},
		"a deadline too soon": {"timeout", silent, row("deadline_exceeded", func(r *takt.Sample) { r.Done, r.Status = r.Sent+time.Millisecond, 0 })},
	} {
		sc := spoken()
		if c.change != nil {
			c.change(sc)
		}
		sc.spoil = c.spoil
		if o := run(3, sc); !slices.ContainsFunc(o.Faults, func(f Fault) bool { return f.Kind == c.kind }) {
			t.Errorf("%s: the oracle says %v", name, o.Faults)
		}
		if sc.spoil = nil; len(run(3, sc).Faults) > 0 {
			t.Errorf("%s: without a falsification the oracle says %v", name, run(3, sc).Faults)
		}
	}
}

// A reset that comes after the deadline is the target's word for it, also if takt wakes too late to end the call itself.
func TestDeadlineByReset(t *testing.T) {
	sc := spoken()
	silent(sc)
	sc.LateWakes = 0.7
	if o := run(1, sc); len(o.Faults) > 0 || o.Injected["deadline"] < 5 {
		t.Error(o, o.Injected)
	}
}

// silent is a target that answers only at the deadline.
func silent(sc *Scenario) { sc.Deadline, sc.Timeout, sc.Silence = true, 20*time.Millisecond, 1 }
