// Package trial runs load generators against targets whose behaviour is known, and records what they say and
// what arrived. Package honest compares the two.
package trial

import (
	"time"

	"github.com/taktload/takt/internal/target"
)

// Pathology is one thing that goes wrong in a trial.
type Pathology struct {
	Name  string
	Short string // what goes wrong
	Weak  bool   // it happens to the generator, not to the target

	target func(o *Options) target.Options
	length func(o *Options) time.Duration // of the run; nil: o.Duration
	during func(o *Options, r *running)   // while the run goes on; nil: nothing
	h1     bool                           // HTTP/1.1 only

	starves bool // needs a CPU quota
}

// lasts is the length of a run.
func (p *Pathology) lasts(o *Options) time.Duration {
	if p.length != nil {
		return p.length(o)
	}
	return o.Duration
}

// service is how long the target needs for a request where nothing is wrong.
const service = "1ms"

// Pathologies are all of them, in the order in which they run. The first one shows whether the generator can be
// read at all.
func Pathologies() []Pathology {
	with := func(change func(o *Options, t *target.Options)) func(o *Options) target.Options {
		return func(o *Options) target.Options {
			t := target.Options{Service: service, Seed: 1}
			change(o, &t)
			return t
		}
	}
	steady := with(func(*Options, *target.Options) {})
	return []Pathology{
		{Name: "steady", Short: "nothing is wrong: each answer needs 1 ms", target: steady},
		{Name: "freeze", Short: "the target freezes for 1 s in every 5 s",
			target: with(func(o *Options, t *target.Options) {
				t.Freeze = o.scaled(freezeFor).String() + "/" + o.scaled(freezeEvery).String()
			}), length: (*Options).freezing},
		{Name: "slow-start", Short: "the first answer needs 201 ms, later ones less, and 1 ms after 2 s",
			target: with(func(o *Options, t *target.Options) {
				t.SlowStart = o.scaled(200*time.Millisecond).String() + "/" + o.scaled(2*time.Second).String()
			})},
		{Name: "slow", Short: "2 % of the answers need 80 ms",
			target: with(func(_ *Options, t *target.Options) { t.Slow = "2%/80ms" })},
		{Name: "overload", Short: "the target serves one request at a time, and 1.4 times as many come as it can serve",
			target: with(func(o *Options, t *target.Options) {
				t.Servers, t.Service = 1, time.Duration(overload/o.Rate*float64(time.Second)).String()
			})},
		{Name: "resets", Short: "1 % of the requests end with a reset of their connection",
			target: with(func(_ *Options, t *target.Options) { t.ResetRate = 0.01 })},
		{Name: "closes", Short: "1 % of the requests end with a closed connection, without an answer", h1: true,
			target: with(func(_ *Options, t *target.Options) { t.CloseRate = 0.01 })},
		{Name: "stop", Short: "the generator is stopped for 500 ms", Weak: true, target: steady,
			during: (*Options).stop},
		{Name: "quota", Short: "the generator has nine tenths of the CPU time that it needs", Weak: true, target: steady,
			during: (*Options).starve, starves: true},
	}
}

const (
	overload    = 1.4
	freezeFor   = time.Second
	freezeEvery = 5 * time.Second
	starved     = 0.9  // of the CPU time of the steady run
	leastQuota  = 0.01 // cores: the kernel's least quota is 1 ms of 100 ms
)

// freezing is the length of a run with freezes: the last of them is over 1 s before the end, since a generator that cuts its
// last requests would be right by luck.
func (o *Options) freezing() time.Duration {
	every := o.scaled(freezeEvery)
	n := max(1, int(o.Duration/every))
	return time.Duration(n)*every + o.scaled(time.Second)
}

// stop stops the generator's process group.
func (o *Options) stop(r *running) {
	if r.wait(o.Duration * 2 / 5) {
		r.fault(r.process.Pause(o.scaled(500 * time.Millisecond)))
	}
}

// starve limits the CPU time from the first request on: a start may need more.
func (o *Options) starve(r *running) {
	if r.wait(o.Duration / 10) {
		r.fault(r.quota.Add(r.process.Pids()))
	}
}
