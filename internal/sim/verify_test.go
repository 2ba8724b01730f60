package sim

import (
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/takt"
)

// takt verify finds a head whose answers take 10 % longer by a scenario whose rate counts rounds, and calls a head that is no
// slower ok.
func TestVerifyRounds(t *testing.T) {

	pairs := func(head time.Duration) *verify.Judgement {
		o := verify.DefaultOptions()
		o.Metrics = []string{"p50"}
		p, err := verify.NewPairs(15, false, "http", o)
		if err != nil {
			t.Fatal(err)
		}
		var sides [2][]stored.Run
		for i := range p.Looks[0] {
			for side, service := range []time.Duration{2 * time.Millisecond, head} {
				sides[side] = append(sides[side], stored.RunOf(roundsReport(t, uint64(2*i+side+1), service)))
			}
		}
		step, err := p.Next(sides[verify.DuetBase], sides[verify.DuetHead])
		if err != nil || !step.Done {
			t.Fatal(step, err)
		}
		return step.Judgement
	}
	if j := pairs(2200 * time.Microsecond); j.Verdict != verify.Regressed {
		t.Errorf("a slower head is %s: %+v", j.Verdict, j)
	}
	if j := pairs(2 * time.Millisecond); j.Verdict != verify.OK {
		t.Errorf("an equal head is %s: %+v", j.Verdict, j)
	}
}

// roundsReport is the report of rounds with polls and repetitions.
func roundsReport(t *testing.T, seed uint64, service time.Duration) *takt.Report {
	t.Helper()
	none := scripted{asks: -1, list: -1}
	login, item, job := none, none, none
	login.captures, login.optional = true, true
	item.list, item.think = 0, span{time.Millisecond, 5 * time.Millisecond}
	job.most, job.poll = 50, span{time.Millisecond, time.Millisecond}
	w := newWorld(&Scenario{
		Mode: modeUsers, Rate: 100, PerRound: true, Duration: 2 * time.Second, InFlight: 1000, Room: unbounded, Drain: time.Second, Timeout: time.Second,
		ConnectTimeout: time.Second, Service: service, Script: script{login, item, job},
	}, seed)
	var rep *takt.Report
	var err error
	w.run(func() { rep, err = w.load() })
	if err != nil || len(w.report.faults) > 0 || rep == nil {
		t.Fatal(err, w.report.faults)
	}
	return rep
}
