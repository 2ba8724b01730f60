package kept

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// Choice selects the stored runs that a command reads.
type Choice struct {
	Last  Last
	since time.Duration

	Filters query.Filters
	Count   int           // 0: all
	Age     time.Duration // 0: any
}

// Last is the value of --last: a number of runs or a time; "": all runs.
type Last struct {
	Text  string
	given bool // set by the user; false: the command's default
}

// Set implements flag.Value.
func (l *Last) Set(s string) error {
	*l = Last{s, true}
	return nil
}

// String implements flag.Value.
func (l *Last) String() string { return l.Text }

// AddFlags adds --last and --since.
func (c *Choice) AddFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupSelection, c.addFlags, "last", "since")
}

func (c *Choice) addFlags(fs *pflag.FlagSet) {
	fs.VarP(value.Plain(&c.Last), "last", "n", "the newest N runs, or the runs of the last TIME: `N|TIME`, such as 20 or 168h; --since alone replaces the default")
	fs.Var(value.Duration(&c.since), "since", "only runs started in the last `TIME`, such as 7d or 168h")
}

// Validate reads -n and the filters. If -n and --since are both times, the shorter one applies.
func (c *Choice) Validate(words []string) (faults []error) {
	var err error
	c.Filters, err = query.ParseFilters(words)
	faults = core.AppendError(faults, err)
	c.Count, c.Age = 0, c.since
	if c.Last.Text == "" || c.since > 0 && !c.Last.given {
		return faults
	}
	if n, bad := strconv.Atoi(c.Last.Text); bad == nil && n > 0 {
		c.Count = n
		return faults
	}
	var d time.Duration
	if err := (*schedule.DurationValue)(&d).Set(c.Last.Text); err != nil || d <= 0 {
		return append(faults, value.Faultf("bad --last %q; give a number of runs above 0, or a time such as 168h", c.Last.Text))
	}
	if c.Age == 0 || d < c.Age {
		c.Age = d
	}
	return faults
}

// query is the choice as a query to a store.
func (c *Choice) query(now time.Time) stored.Query {
	q := stored.Query{Labels: c.Filters.Labels(), Match: c.Filters.Match, Limit: c.Count}
	if c.Age > 0 {
		q.Since = now.Add(-c.Age)
	}
	return q
}

// From returns the chosen runs, newest first.
func (c *Choice) From(ctx context.Context, st store.Store) (list []stored.Run, err error) {
	err = c.Each(ctx, st, func(r *stored.Run) { list = append(list, *r) })
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Each calls do for the chosen runs, newest first.
func (c *Choice) Each(ctx context.Context, st store.Store, do func(*stored.Run)) error {
	for r, err := range st.Runs(ctx, c.query(time.Now())) {
		if err != nil {
			return err
		}
		do(&r)
	}
	if err := c.Filters.Unknown(); err != nil {
		return core.ExitWith(core.ExitUsage, err)
	}
	return nil
}
