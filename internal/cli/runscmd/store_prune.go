package runscmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
)

// pruning is the command that deletes old runs.
type pruning struct {
	env    core.Env
	store  kept.Storing
	choice kept.Choice
	older  time.Duration
	quota  quota
	yes    bool
	dry    bool
}

func newStorePrune(env core.Env) *cobra.Command {
	p := &pruning{env: env}
	c := &cobra.Command{
		Use:   "prune --keep N|TIME [FILTER…]",
		Short: "delete old runs from the store",
		Long: `It lists the runs, and deletes them with --yes. Runs with a label keep or baseline
stay, and those that takt store keep protects; they do not count towards N.`,
		Example: `  takt store prune --keep 500 --dry-run
  takt store prune --keep 30d --yes
  takt store prune --keep 100 branch!=main --yes`,
	}
	flags := func(fs *pflag.FlagSet) {
		p.store.AddFlags(fs)
		value.Declare(fs, value.GroupSelection, func(fs *pflag.FlagSet) {
			fs.Var(value.Plain(&p.quota), "keep", "keep the newest `N|TIME`, such as 500 runs or the runs of the last 30d, and delete the older ones")
			fs.Var(value.Duration(&p.older), "older", "delete runs started more than `TIME` ago: the same as --keep TIME")
			fs.BoolVar(&p.yes, "yes", false, "really delete them")
			fs.BoolVar(&p.dry, "dry-run", false, "only list what --yes would delete; this is the default")
		})
	}
	return core.Define(c, flags, p.validate, p.run)
}

func (p *pruning) validate(args []string) []error {
	faults := p.choice.Validate(args)
	switch {
	case p.older <= 0 && !p.quota.given:
		faults = append(faults, errors.New("takt store prune needs --keep N or --keep TIME, such as --keep 500 or --keep 30d"))
	case p.older > 0 && p.quota.given:
		faults = append(faults, value.Faultf("--older and --keep both say which runs are old; give one of them"))
	}
	if p.yes && p.dry {
		faults = append(faults, value.Faultf("--yes deletes, and --dry-run does not; give one of them"))
	}
	return faults
}

func (p *pruning) run(ctx context.Context, _ []string) error {
	return p.store.Reading(ctx, p.env, func(st store.Store) error { return p.prune(ctx, st) })
}

func (p *pruning) prune(ctx context.Context, st store.Store) error {
	list, err := p.choice.From(ctx, st)
	if err != nil {
		return err
	}
	limited, _ := st.(store.Limited)
	marked := map[string]bool{}
	if limited != nil {
		if marked, err = limited.Marked(ctx); err != nil {
			return err
		}
	}
	old, exempt := p.old(list, marked, time.Now())
	if p.yes {
		if old, err = remove(ctx, st, limited, old); err != nil {
			return err
		}
	}
	return p.tell(old, exempt)
}

// exemption is an old run that stays.
type exemption struct {
	run stored.Run
	why string
}

// old returns the runs to delete, and those that would go but for their protection. list has the
// newest first.
func (p *pruning) old(list []stored.Run, marked map[string]bool, now time.Time) (old []stored.Run, exempt []exemption) {
	age, fresh := max(p.older, p.quota.age), 0
	for _, r := range list {
		isOld := age > 0 && r.StartedAt.Before(now.Add(-age)) || p.quota.count > 0 && fresh >= p.quota.count
		why := protection(&r, marked)
		switch {
		case isOld && why == "":
			old = append(old, r)
		case isOld:
			exempt = append(exempt, exemption{r, why})
		case why == "":
			fresh++
		}
	}
	return old, exempt
}

// protection says what protects a run; "": nothing.
func protection(r *stored.Run, marked map[string]bool) string {
	if marked[r.ID] {
		return "takt store keep"
	}
	if name := stored.LastingLabel(r.Labels); name != "" {
		return "label " + name
	}
	return ""
}

// remove deletes the runs, and returns those that are gone: another process may have protected one
// of them meanwhile.
func remove(ctx context.Context, st store.Store, limited store.Limited, runs []stored.Run) ([]stored.Run, error) {
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	if limited == nil {
		return runs, st.Delete(ctx, ids...)
	}
	removed, err := limited.Remove(ctx, ids...)
	if err != nil {
		return nil, err
	}
	is := map[string]bool{}
	for _, id := range removed {
		is[id] = true
	}
	var gone []stored.Run
	for _, r := range runs {
		if is[r.ID] {
			gone = append(gone, r)
		}
	}
	return gone, nil
}

// tell lists the runs, and counts them.
func (p *pruning) tell(old []stored.Run, exempt []exemption) error {
	word := "would go"
	if p.yes {
		word = "deleted"
	}
	var table [][]string
	row := func(what string, r *stored.Run, why string) {
		table = append(table, []string{what, page.Clean(r.ID), r.StartedAt.UTC().Format("2006-01-02 15:04"), page.Clean(r.Kind), why})
	}
	for i := range old {
		row(word, &old[i], "")
	}
	for i := range exempt {
		row("stays", &exempt[i].run, exempt[i].why)
	}
	if err := p.list(table); err != nil {
		return err
	}
	said := core.Counted(len(old), "would be deleted", "would be deleted") + "; add --yes to do it"
	if p.yes {
		said = core.Counted(len(old), "was deleted", "were deleted")
	}
	if n := len(exempt); n > 0 {
		said += "; " + core.Counted(n, "is protected and stays", "are protected and stay")
	}
	_, err := fmt.Fprintf(p.env.Stderr, "takt store: %s\n", said)
	return err
}

func (p *pruning) list(table [][]string) error {
	if len(table) == 0 {
		return nil
	}
	page.Align(table, func(int) bool { return false })
	var out page.Page
	for _, cells := range table {
		out.Linef("%s  %s  %s  %s  %s", cells[0], cells[1], cells[2], cells[3], cells[4])
	}
	return out.Print(p.env.Stdout)
}

// quota is the value of --keep: a number of runs, or a time.
type quota struct {
	given bool
	count int
	age   time.Duration
}

// Set implements flag.Value.
func (q *quota) Set(s string) error {
	*q = quota{given: true}
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		q.count = n
		return nil
	}
	if err := (*schedule.DurationValue)(&q.age).Set(s); err != nil || q.age <= 0 {
		return fmt.Errorf("%.60q is not a number of runs above 0 and not a time; give one such as 500, or 30d", s)
	}
	return nil
}

// String implements flag.Value.
func (q *quota) String() string {
	switch {
	case q.count > 0:
		return strconv.Itoa(q.count)
	case q.age > 0:
		return q.age.String()
	}
	return ""
}
