package kept

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// filter matches the beginning of a condition on runs.
var filter = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*(?:!=|[=<>])`)

// IsFilterText reports whether a text begins like a condition on runs.
func IsFilterText(text string) bool { return filter.MatchString(text) }

// IsFilter reports whether a word is a condition on runs. A file of that name comes first.
func IsFilter(word string) bool { return IsFilterText(word) && !IsFile(word) }

// Chosen adds the filters among the words of a side to c, and returns the other words.
func Chosen(c Choice, words []string) (_ Choice, others []string, faults []error) {
	var filters []string
	for _, w := range words {
		if IsFilter(w) {
			filters = append(filters, w)
		} else {
			others = append(others, w)
		}
	}
	faults = c.Validate(filters)
	return c, others, faults
}

// Side reads the runs and files of one side, and the stored runs that match all its filters.
func (s *Storing) Side(ctx context.Context, env core.Env, c Choice, words []string) ([]*takt.Report, error) {
	c, others, faults := Chosen(c, words)
	if len(faults) > 0 {
		return nil, core.ExitWith(core.ExitUsage, faults[0])
	}
	all, err := s.Reports(ctx, env, others)
	if err != nil || len(others) == len(words) {
		return all, err
	}
	err = s.Reading(ctx, env, func(st store.Store) error {
		list, err := c.From(ctx, st)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("no run matches %s; takt runs lists the stored runs, and --last reaches further back", strings.Join(words, " "))
		}
		for _, run := range list {
			if err != nil {
				return err
			}
			var r *takt.Report
			if r, err = LoadRun(ctx, st, run.ID); err == nil {
				all = append(all, r)
			}
		}
		return err
	})
	return all, err
}
