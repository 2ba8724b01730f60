package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// filter is how a condition on runs begins: it names no file, whatever it is compared with.
var filter = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*(?:!=|[=<>])`)

// isFilterText reports whether a text begins as a condition does.
func isFilterText(text string) bool { return filter.MatchString(text) }

// isFilter reports whether a word that may name a run, a file or a condition on runs is the
// last.
func isFilter(word string) bool { return isFilterText(word) && !isFile(word) }

// chosen adds the filters among the words of a side to c, and gives the other words.
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

// side reads the runs and files of one side, and the stored runs that all filters among its
// words choose.
func (s *storing) side(ctx context.Context, env Env, c choice, words []string) ([]*takt.Report, error) {
	c, others, faults := chosen(c, words)
	if len(faults) > 0 {
		return nil, &exitError{exitUsage, faults[0]}
	}
	all, err := s.reports(ctx, env, others)
	if err != nil || len(others) == len(words) {
		return all, err
	}
	err = s.reading(ctx, env, func(st store.Store) error {
		list, err := c.from(ctx, st)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("no run is chosen by %s; takt runs lists those that are kept, and --last looks further back", strings.Join(words, " "))
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
