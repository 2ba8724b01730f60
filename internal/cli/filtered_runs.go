package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// filter matches the beginning of a condition on runs.
var filter = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*(?:!=|[=<>])`)

// isFilterText reports whether a text begins like a condition on runs.
func isFilterText(text string) bool { return filter.MatchString(text) }

// isFilter reports whether a word is a condition on runs. A file of that name comes first.
func isFilter(word string) bool { return isFilterText(word) && !isFile(word) }

// chosen adds the filters among the words of a side to c, and returns the other words.
func chosen(c choice, words []string) (_ choice, others []string, faults []error) {
	var filters []string
	for _, w := range words {
		if isFilter(w) {
			filters = append(filters, w)
		} else {
			others = append(others, w)
		}
	}
	faults = c.validate(filters)
	return c, others, faults
}

// side reads the runs and files of one side, and the stored runs that match all its filters.
func (s *storing) side(ctx context.Context, env Env, c choice, words []string) ([]*takt.Report, error) {
	c, others, faults := chosen(c, words)
	if len(faults) > 0 {
		return nil, exitWith(exitUsage, faults[0])
	}
	all, err := s.reports(ctx, env, others)
	if err != nil || len(others) == len(words) {
		return all, err
	}
	err = s.reading(ctx, env, func(st store.Store) error {
		list, err := c.from(ctx, st)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("no run matches %s; takt runs lists the stored runs, and --last reaches further back", strings.Join(words, " "))
		}
		for _, run := range list {
			if err != nil {
				return err
			}
			var r *takt.Report
			if r, err = loadRun(ctx, st, run.ID); err == nil {
				all = append(all, r)
			}
		}
		return err
	})
	return all, err
}
