package loadcmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/fleet"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// checkFleet refuses flags whose work one process does for itself.
func (l *load) checkFleet() (faults value.Faults) {
	if l.driver.Plans != nil && l.driver.Plans() {
		faults.If(l.env.Fleet != nil || l.env.Side != nil, "--dry-run, --describe and --dump send nothing, and this is a part of a larger run; leave them out")
	}
	if l.env.Fleet == nil {
		return faults
	}
	for _, name := range []string{"shard", "start-at"} {
		faults.If(l.given(name), "--%s is given, but the fleet numbers its shards and gives them their start; leave it out", name)
	}
	faults.If(l.driver.Contrasts != nil && l.driver.Contrasts() > 0, "--contrast compares with a closed loop in one process; run it without a fleet")
	for _, s := range l.env.Settings.All() {
		if f := l.flags.Lookup(s.Name); f != nil && !core.OfTheWhole(f) && core.WritesFiles(f, s.Value) {
			faults.If(true, "--%s writes a file, and the shards of a fleet write none; leave it out", s.Name)
		}
	}
	for _, d := range l.outputs.Opened {
		faults.If(d.Format.Rows || d.Format.Asked, "-o %s has a row for each operation, and these stay on the hosts of the shards; leave it out", d.Format.Name)
	}
	if l.driver.Stdin != nil {
		before, during := l.driver.Stdin()
		for _, name := range slices.Concat(before, during) {
			faults.If(true, "%s reads standard input, which the shards do not have; give it a file that each host has", name)
		}
	}
	return faults
}

// given reports whether a setting has a value.
func (l *load) given(name string) bool {
	return slices.ContainsFunc(l.env.Settings.All(), func(s core.Setting) bool { return s.Name == name })
}

// remote makes the run on the machines of the fleet.
func (l *load) remote(ctx context.Context, out core.Outputs, pump *metrics.Pump, head takt.Report, number int, args []string) (*takt.Report, *journal, error) {
	f, journal := l.follow(ctx, out, pump, live.Watcher{}, nil), l.journal(head, number)
	if journal != nil {
		f.Watchers = append(f.Watchers, l.told(journal))
	}
	tell := l.tell
	if l.progress == progressNone {
		tell = nil // a step of a search: the gatherer itself says what happens to it
	}
	report, err := l.env.Fleet.Run(ctx, fleet.Load{
		ID: head.ID, Abort: l.env.Abort, Settings: l.settings(head), Drain: l.engine.Drain.Duration(),
		Asked: l.asked(head), End: l.end(), Most: l.most(),
		Words: func(shard string) []string { return l.shardWords(shard, head.ID, args) },
		Begin: func(known live.Head, start time.Time) {
			unknown := func(name string) bool { return !slices.Contains(known.Timed, name) }
			mine := l.liveHead(head.ID, known.End, &takt.Driver{OneWay: known.OneWay})
			mine.Receives, mine.Room, mine.Timed = known.Receives, known.Room, slices.DeleteFunc(mine.Timed, unknown)
			if l.driver.Learn != nil {
				out.Begin(l.shown(head, unknown))
			}
			f.Begin(mine, start)
		},
		Second: f.Second,
		Tell:   tell,
	})
	if report == nil {
		f.End(nil)
		journal.end()
		failed := (*fleet.FailedError)(nil)
		if errors.As(err, &failed) {
			return nil, nil, core.ExitWith(failed.Code, l.clean(err))
		}
		return nil, nil, l.broken(ctx, err)
	}
	if err != nil {
		l.brokeOff = err
	}
	report.ID, report.Tool, report.Labels = head.ID, head.Tool, head.Labels
	report.Command = slices.Concat([]string{"takt", "fleet", "--shards", strconv.Itoa(l.env.Fleet.Shards), "--"}, head.Command[1:])
	report.ComparabilityKey = engine.ComparabilityKey(report.Variables, report.Generator.HostClass)
	switch name := l.runGroup.String(); {
	case name != "":
		report.Schedule.RunGroup = name
	case l.repeat > 1: // as without a fleet
		report.Schedule.RunGroup = l.group
	}
	f.End(report)
	return report, journal, nil
}

// asked is what the report of each shard must say of the load.
func (l *load) asked(head takt.Report) takt.Report {
	r := takt.Report{SchemaVersion: head.SchemaVersion, Kind: head.Kind, Tool: head.Tool, WarmupS: head.WarmupS, Variables: maps.Clone(head.Variables), Schedule: l.engine.Described()}
	r.Schedule.RunGroup = head.ID
	return r
}

// end is when the last operation of the load is due, from the start on; not above 0: only the shards know.
func (l *load) end() time.Duration {
	if l.reacts() {
		return 0
	}
	end := l.engine.Span()
	if end > 0 && l.driver.Later != nil {
		end += l.driver.Later()
	}
	return end
}

// reacts reports whether answers decide how many operations there are, and when the last one is due.
func (l *load) reacts() bool { return l.driver.Reacts != nil && l.driver.Reacts() }

// most is the largest number of operations of a shard; 0: unknown, as where shards get the clients of a
// log and not every n-th operation.
func (l *load) most() uint64 {
	if l.engine.Recorded || l.row.Kind == "replay" || l.reacts() {
		return 0
	}
	return l.engine.Most(l.env.Fleet.Shards)
}

// told writes the seconds of a remote run into its journal.
func (l *load) told(j *journal) live.Watcher {
	var run *engine.Told // nil: the journal has no further seconds
	return live.Watcher{
		Begin: func(known live.Head, start time.Time) {
			b := engine.Beginning{
				Report: takt.Report{Kind: l.row.Kind, StartedAt: start, Schedule: l.engine.Described(), Generator: takt.Generator{Engine: "fleet", HostClass: proc.HostClassName()}},
				Config: record.Config{Warmup: known.Warmup, Window: known.End, OneWay: known.OneWay, Timed: l.timed(), Goal: l.slo()},
				Closed: known.Closed, ReceiveOnly: known.Receives,
			}
			var err error
			if run, err = engine.Tell(j, b); err != nil { // cannot happen without phases
				j.say(err)
			}
		},
		Second: func(s live.Snapshot) {
			if run == nil {
				return
			}
			if err := run.Interval(s.Interval, s.Errors); err != nil {
				j.say(err)
				run = nil
			}
		},
	}
}

// settings are what shapes the load: all shards of a fleet must have the same.
func (l *load) settings(head takt.Report) map[string]string {
	all := map[string]string{}
	for name, v := range head.Variables {
		all[name] = stored.JSON(v)
	}
	all["seed"], all["warmup"], all["drain"] = stored.JSON(l.engine.Seed), l.engine.Warmup.String(), l.engine.Drain.Duration().String()
	return all
}

// tell prints what happens to the fleet.
func (l *load) tell(text string) {
	fmt.Fprintf(l.env.Stderr, "takt fleet: %s\n", text)
}

// shardWords is the command line of a shard. It has all settings of this process for the load, wherever they
// came from, but none for what the whole does with the report. Secrets of the environment stay
// there: each host has its own.
func (l *load) shardWords(shard, group string, args []string) []string {
	words := append(strings.Fields(l.row.Group), strings.Fields(l.row.Use)[0])
	for _, s := range l.env.Settings.Given {
		f := l.flags.Lookup(s.Name) // nil: --config
		if f == nil || core.OfTheWhole(f) || core.IsSecret(f) && s.Origin.Kind == core.FromEnvironment {
			continue
		}
		words = append(words, dashed(s.Name)+"="+s.Value)
	}
	words = append(words, "--shard="+shard, "--run-group="+group, "--no-store", "--progress=none", "--")
	return append(words, args...)
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
