package verifycmd

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/takt"
)

func scheduleOf(t *testing.T, rate string) takt.Source {
	t.Helper()
	o := engine.Defaults()
	o.Rate, o.Duration, o.Arrivals, o.Seed = engine.MustRate(rate), 10*time.Second, engine.MustArrivals("poisson"), 3
	src, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// Together the sides have every operation once, with its number; each counts its own.
func TestSidesAreTheWholeSchedule(t *testing.T) {
	deal := verify.Deal{Block: 50 * time.Millisecond, Seed: 1}
	whole, op := map[uint64]time.Duration{}, takt.Op{}
	for src := scheduleOf(t, "300"); src.Next(&op); {
		whole[op.Seq] = op.Due
	}
	n := len(whole)
	for side := range 2 {
		d := &duetSide{side: side, deal: deal}
		src, err := d.Source(scheduleOf(t, "300"), 0)
		if err != nil || src.End() != 10*time.Second {
			t.Fatal(err, src.End())
		}
		other, err := d.Source(scheduleOf(t, "300"), 0)
		if err != nil {
			t.Fatal(err)
		}
		counter, seen := other.(takt.Counter), uint64(0)
		for src.Next(&op) {
			if got := counter.DueBefore(op.Due); got != seen {
				t.Fatalf("side %d: %d before %v, want %d", side, got, op.Due, seen)
			}
			seen++
			if deal.Side(deal.Number(op.Due)) != side || whole[op.Seq] != op.Due {
				t.Fatalf("side %d has operation %d at %v", side, op.Seq, op.Due)
			}
			delete(whole, op.Seq)
		}
		if got := counter.DueBefore(10 * time.Second); got != seen {
			t.Errorf("side %d: %d in all, want %d", side, got, seen)
		}
	}
	if len(whole) != 0 || n < 2000 {
		t.Errorf("%d of %d operations are of no side", len(whole), n)
	}
}

// The round to warm up is the begin of the schedule.
func TestShortenedSide(t *testing.T) {
	d := &duetSide{most: 2 * time.Second, deal: verify.Deal{Block: 50 * time.Millisecond}}
	src, err := d.Source(scheduleOf(t, "300"), time.Second)
	if err != nil || src.End() != 3*time.Second {
		t.Fatal(err, src.End())
	}
	var op takt.Op
	for src.Next(&op) {
		if op.Due >= 3*time.Second {
			t.Fatalf("an operation at %v", op.Due)
		}
	}
}

func TestDuetNeedsASchedule(t *testing.T) {
	o := engine.Defaults()
	o.Requests = 10
	src, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&duetSide{}).Source(src, 0); !errors.Is(err, errNoSchedule) {
		t.Error(err)
	}
}

// stage plays rounds in which every operation takes so long on each side.
func stage(p *play, takes [2]time.Duration, lag time.Duration) {
	p.run = func(number uint64, most time.Duration) (r verify.DuetRound, runs [2]*stored.Run, err error) {
		r.Deal, r.End = verify.Deal{Block: p.block, Seed: number}, 5*time.Second
		if most > 0 {
			r.End = most
		}
		for due := time.Duration(0); due < r.End; due += 5 * time.Millisecond {
			side := r.Side(r.Number(due))
			r.Ops[side] = append(r.Ops[side], verify.DuetOp{Due: due, Done: due + takes[side], Lag: lag})
		}
		for i := range runs {
			run, _ := busy(1, 0, 0)("base", "")
			runs[i] = &run
		}
		return r, runs, nil
	}
}

func playOf() (*play, *strings.Builder) {
	said := &strings.Builder{}
	v := &verifyCommand{env: core.Env{Stderr: said, Stdout: io.Discard}, options: verify.DefaultOptions(), base: []string{"a"}, head: []string{"b"}}
	return &play{duet: &duet{on: true, block: 50 * time.Millisecond, budget: time.Minute}, ctx: context.Background(), verifyCommand: v}, said
}

func TestPlay(t *testing.T) {
	for _, c := range []struct {
		head time.Duration
		want verify.Word
	}{{time.Millisecond, verify.OK}, {2 * time.Millisecond, verify.Regressed}} {
		p, said := playOf()
		stage(p, [2]time.Duration{time.Millisecond, c.head}, 0)
		j, err := p.judge()
		if err != nil || j.Verdict != c.want || p.spent != 15*time.Second {
			t.Errorf("%v after %v, %v", j.Verdict, p.spent, err)
		}
		for _, want := range []string{"blocks of 50ms in turn, the first 5ms of each not counted; looks after 15s, 30s, 1m0s of load\n", "verify: round 3: 15s of load count\n"} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%s\nwant in it %s", said, want)
			}
		}
	}
}

// A machine on which the generator is always late gives no judgement, soon.
func TestPlayOnABusyMachine(t *testing.T) {
	p, _ := playOf()
	stage(p, [2]time.Duration{time.Millisecond, time.Millisecond}, 5*time.Millisecond)
	_, err := p.judge()
	var unfit *verify.UnfitError
	if !errors.As(err, &unfit) || !strings.Contains(err.Error(), "the generator was late in 100 of 100 pairs of blocks") || p.spent != 10*time.Second {
		t.Errorf("after %v: %v", p.spent, err)
	}
}

// A round that is invalid for another reason is left out, but not for ever.
func TestPlayLeavesOutInvalidRounds(t *testing.T) {
	for _, c := range []struct {
		bad  int
		want string
	}{{2, ""}, {99, "5 of 5 rounds were invalid"}} {
		p, said := playOf()
		stage(p, [2]time.Duration{time.Millisecond, time.Millisecond}, 0)
		good := p.run
		p.run = func(number uint64, most time.Duration) (verify.DuetRound, [2]*stored.Run, error) {
			r, runs, err := good(number, most)
			if number > 0 && int(number) <= c.bad {
				runs[1].Unfit = "the run is invalid: the generator shaped its figures"
			}
			return r, runs, err
		}
		j, err := p.judge()
		switch {
		case c.want == "" && (err != nil || j.Duet.BadHead != 2 || j.Duet.BadBase != 0 || j.Duet.Rounds != 5 || !strings.Contains(said.String(), "verify: head: the run is invalid")):
			t.Errorf("%+v, %v, %s", j.Duet, err, said)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Too low a rate, and too short a round, are said after the round to warm up.
func TestPlayNeedsOperations(t *testing.T) {
	for _, c := range []struct {
		every, end time.Duration
		want       string
	}{
		{40 * time.Millisecond, 2 * time.Second, "operations after its guard of 5ms, and needs 3"},
		{5 * time.Millisecond, 90 * time.Millisecond, "shorter than a pair of blocks, 100ms"},
	} {
		p, _ := playOf()
		p.run = func(uint64, time.Duration) (r verify.DuetRound, runs [2]*stored.Run, err error) {
			r.Deal, r.End = verify.Deal{Block: p.block}, c.end
			for due := time.Duration(0); due < c.end; due += c.every {
				r.Ops[0] = append(r.Ops[0], verify.DuetOp{Due: due, Done: due + time.Millisecond})
			}
			for i := range runs {
				run, _ := busy(1, 0, 0)("base", "")
				runs[i] = &run
			}
			return r, runs, nil
		}
		_, err := p.judge()
		if err == nil || !strings.Contains(err.Error(), c.want) || (core.Env{Stderr: io.Discard}).Exit(err) != core.ExitUsage {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
