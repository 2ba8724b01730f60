package mcp

import (
	"cmp"
	"math"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// Options are the limits that the user sets for the program at the other end. No call can change them.
type Options struct {
	Allow       []string // machines that may be loaded; nil: this one
	Rate        float64  // highest rate, in operations per second
	Time        time.Duration
	Connections int
	Folder      string // folder of the files that a call may name
	Store       string // "": the default one
}

// The limits unless the user gives others.
const (
	defaultRate        = 1000
	defaultTime        = 5 * time.Minute
	defaultConnections = 500
)

// loopback is this machine, by the names and addresses that it always has.
func loopback() []string { return []string{"127.0.0.0/8", "::1", "localhost"} }

// AddFlags declares the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Rate, o.Time, o.Connections = defaultRate, defaultTime, defaultConnections
	value.Declare(fs, value.GroupSecurity, func(fs *pflag.FlagSet) {
		fs.Var(value.List(&o.Allow), "allow-target", "the agent may load `HOST[:PORT]`, or a network such as 10.0.0.0/8; * for all; repeatable (default: this machine, by 127.0.0.0/8, ::1 and localhost)")
		fs.Var(value.Plain((*schedule.RateValue)(&o.Rate)), "max-rate", "the agent may send at most `RATE`")
		fs.Var(value.Duration(&o.Time), "max-duration", "one call may send load for `TIME` at most")
		fs.IntVar(&o.Connections, "max-connections", defaultConnections, "one call may have `N` operations in flight at most")
		fs.Var(value.OutFile(&o.Folder), "folder", "the agent may read and write files below `FOLDER` (default $XDG_DATA_HOME/takt/mcp)")
	}, "allow-target", "max-rate", "max-duration", "max-connections", "folder")
	value.Declare(fs, value.GroupStorage, func(fs *pflag.FlagSet) {
		fs.Var(value.Store(&o.Store), "store", "store the agent's runs in `PATH|URL`, and show it those that are there")
	}, "store")
}

// Validate reports every fault.
func (o *Options) Validate() []error {
	var faults value.Faults
	faults.If(math.IsInf(o.Rate, 1), "--max-rate max is no limit; give a rate such as 500/s")
	faults.If(o.Time < leastTime, "--max-duration is %v, which is too short for a run; give %v or more", o.Time, leastTime)
	faults.If(o.Connections < 2, "--max-connections is %d; give 2 or more, since verify loads two servers", o.Connections)
	_, err := reach.Parse(o.Allow)
	faults.If(err != nil, "--allow-target: %v", err)
	return faults
}

// leastTime is the shortest --max-duration: verify needs 8 s of load for each budget, and up to three times as much.
const leastTime = 30 * time.Second

// machines are those that may be loaded.
func (o *Options) machines() []string {
	if len(o.Allow) == 0 {
		return loopback()
	}
	return o.Allow
}

// verifyBudget is the longest budget of verify, in seconds: disturbed rounds can triple its load, and 2 s of
// warm-up come before it.
func (o *Options) verifyBudget() float64 { return math.Floor((o.Time.Seconds() - 2) / 3) }

// inFlight is the limit for each of n sides, or what the call asks.
func (o *Options) inFlight(asked float64, sides int) int {
	return int(cmp.Or(asked, float64(o.Connections/sides)))
}
