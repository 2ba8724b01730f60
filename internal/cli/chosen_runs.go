package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// choice selects the stored runs that a command reads.
type choice struct {
	last  last
	since time.Duration

	filters query.Filters
	count   int           // 0: all
	age     time.Duration // 0: any
}

// last is the value of --last: a number of runs or a time; "": all runs.
type last struct {
	text  string
	given bool // set by the user; false: the command's default
}

func (l *last) Set(s string) error {
	*l = last{s, true}
	return nil
}

func (l *last) String() string { return l.text }

func (c *choice) addFlags(fs *pflag.FlagSet) {
	fs.VarP(value.Plain(&c.last), "last", "n", "the newest N runs, or the runs of the last TIME: `N|TIME`, such as 20 or 168h; --since alone replaces the default")
	fs.Var(value.Duration(&c.since), "since", "only runs started in the last `TIME`, such as 7d or 168h")
}

// validate reads -n and the filters. If -n and --since are both times, the shorter one applies.
func (c *choice) validate(words []string) (faults []error) {
	var err error
	c.filters, err = query.ParseFilters(words)
	faults = appendError(faults, err)
	c.count, c.age = 0, c.since
	if c.last.text == "" || c.since > 0 && !c.last.given {
		return faults
	}
	if n, bad := strconv.Atoi(c.last.text); bad == nil && n > 0 {
		c.count = n
		return faults
	}
	var d time.Duration
	if err := (*schedule.DurationValue)(&d).Set(c.last.text); err != nil || d <= 0 {
		return append(faults, value.Faultf("bad --last %q; give a number of runs above 0, or a time such as 168h", c.last.text))
	}
	if c.age == 0 || d < c.age {
		c.age = d
	}
	return faults
}

// query is the choice as a query to a store.
func (c *choice) query(now time.Time) stored.Query {
	q := stored.Query{Labels: c.filters.Labels(), Match: c.filters.Match, Limit: c.count}
	if c.age > 0 {
		q.Since = now.Add(-c.age)
	}
	return q
}

// from returns the chosen runs, newest first.
func (c *choice) from(ctx context.Context, st store.Store) (list []stored.Run, err error) {
	for r, err := range st.Runs(ctx, c.query(time.Now())) {
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	if err := c.filters.Unknown(); err != nil {
		return nil, exitWith(exitUsage, err)
	}
	return list, nil
}
