package http

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/driver/http/script"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/users"
	"github.com/taktload/takt/internal/value"
)

// CheckScenario reports what is wrong with the text of a scenario. home is the url argument; "": the file has paths only.
func CheckScenario(name string, text []byte, home string) error {
	o := New()
	var err error
	if o.url, err = httpreq.ParseWhole(cmp.Or(home, "http://localhost/")); err != nil {
		return err
	}
	o.Scenario, o.ScenarioFile = name, bytes.NewReader(text)
	_, err = o.readScenario()
	return err
}

// readScenario reads the whole file.
func (o *Options) readScenario() (*scenario, error) {
	text := o.ScenarioFile
	if text == nil {
		f, err := files.Open(o.Scenario)
		if err != nil {
			return nil, value.Faultf("cannot read the scenario: %w; check --scenario", err)
		}
		defer f.Close()
		text = f
	}
	f, err := script.ReadSteps(o.Scenario, text, script.Given{Home: o.url, Seed: o.seed, Run: &o.run, Closed: o.closed, Users: o.users > 0, Compose: o.newMessage, See: o.noteOdd})
	if err != nil {
		return nil, err
	}
	o.url = f.Hosts[0]
	return &scenario{File: *f, o: o}, nil
}

// Explain is the scenario in words, after Validate.
func (o *Options) Explain(hide func(string) string) script.Explanation {
	return o.requests.(*scenario).Explain(hide)
}

// shapeRounds gives the load the rate of --rounds. Those of a file without rules get their operations when it is read.
func (o *Options) shapeRounds(e *engine.Options) {
	o.load = e
	if o.Rounds.Given() && !o.ratedTwice() {
		e.Rate = o.Rounds.OfRounds(1)
	}
}

// ratedTwice reports whether there is a rate beside --rounds.
func (o *Options) ratedTwice() bool {
	return o.load.Stages.Given() || o.load.Rate.Given() && !o.load.Rate.CountsRounds()
}

// shapeUsers makes users of the connections of a closed loop. With a rate, the schedule says how
// many there are.
func (o *Options) shapeUsers(e *engine.Options) {
	o.users = users.Shape(e, &o.givenUsers, heyConnections)
	o.inFlight, o.warmup = e.InFlight(), e.Warmup
}

// checkScenario refuses flags that mean nothing beside --scenario.
func (o *Options) checkScenario(faults *value.Faults) {
	faults.If(o.Rounds.Given() && o.Scenario == "", "--rounds is given without --scenario; give the file of the rounds, or give --rate")
	if o.Scenario == "" {
		return
	}
	faults.If(o.Rounds.Given() && o.ratedTwice(), "both --rounds and --rate or --stages are given; keep one")
	faults.If(o.Rounds.Given() && o.closed, "--rounds is %s; give a rate such as 75/s, or leave it out: -c users then begin a round when their last one is over", o.Rounds)
	faults.If(o.Scenario == stdin, "--scenario is -; name a file, takt reads it before the run")
	faults.If(o.HTTP2Connections > 1 || o.HTTP2Streams > 0, "--h2-connections or --h2-streams is given with --scenario; leave it out, each user has a connection of its own, and one request at a time")
	faults.If(o.Targets != "", "both --scenario and --targets are given; keep one")
	faults.If(!strings.EqualFold(o.Method, "GET"), "both -m and --scenario are given; drop -m, every step says its own method")
	faults.If(o.Body != "" || o.BodyFile != "", "both a body and --scenario are given; write it in the file, as @body TEXT or @FILE")
	faults.If(o.givenUsers > 0 && !o.closed, "both -c and a rate are given with --scenario; drop -c, each round has a user of its own, and --max-in-flight limits them")
	faults.Add(o.CheckUsers("--scenario"))
}

// buildScenario reads the scenario.
func (o *Options) buildScenario() (faults value.Faults) {
	o.DisableCompression = true // takt reads bodies
	s, err := o.readScenario()
	if err != nil {
		return []error{err}
	}
	s.users = o.users
	if o.Rounds.Given() && !s.Reacts {
		o.load.Rate = o.Rounds.OfRounds(len(s.Steps))
	}
	for _, l := range s.Leases {
		n := l.Len(o.part, o.parts)
		faults.If(n < uint64(max(1, s.users)), "%s lends %d lines to %d users, one each; give it more lines, or lower -c", l.Name(), n, max(1, s.users))
	}
	o.requests = s
	return faults
}

// Later is driver.Load.Later: a round that has begun is finished, whatever its think times are.
func (o *Options) Later() (d time.Duration) {
	s, ok := o.requests.(*scenario)
	if !ok || s.users > 0 {
		return 0
	}
	for _, t := range s.Tracks {
		d = max(d, journey.Longest(t.Rules))
	}
	return d
}

// Reacts is driver.Load.Reacts.
func (o *Options) Reacts() bool {
	s, ok := o.requests.(*scenario)
	return ok && s.Reacts
}

// Steps is driver.Load.Steps.
func (o *Options) Steps() (names []string) {
	if s, ok := o.requests.(*scenario); ok {
		for _, at := range s.Steps {
			names = append(names, at.Name)
		}
	}
	return names
}
