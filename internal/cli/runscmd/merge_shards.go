package runscmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// wholeShard is the value of Schedule.Shard for a run without shards.
const wholeShard = "1/1"

// shards returns the shards that the words name, limited to the run group if one is given.
func (m *mergeCommand) shards(ctx context.Context, words []string) (all []*takt.Report, err error) {
	if len(words) == 0 {
		return m.ofGroup(ctx)
	}
	var runs []string
	for _, word := range words {
		if info, err := os.Stat(word); err != nil || !info.IsDir() {
			runs = append(runs, word)
			continue
		}
		list, err := m.inFolder(word)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	list, err := m.store.Reports(ctx, m.env, runs)
	if err != nil {
		return nil, err
	}
	all = append(all, list...)
	if m.runGroup == "" {
		return all, nil
	}
	all = slices.DeleteFunc(all, func(r *takt.Report) bool { return r.Schedule.RunGroup != m.runGroup })
	if len(all) == 0 {
		return nil, fmt.Errorf("none of the reports belongs to the run group %q", m.runGroup)
	}
	return all, nil
}

// inFolder returns the shards in a folder's *.json files. It skips reports of whole runs, such
// as the output of an earlier merge.
func (m *mergeCommand) inFolder(dir string) (all []*takt.Report, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".json" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		list, err := kept.ReadReports(m.env, path)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if r.Schedule.Shard == wholeShard {
				fmt.Fprintf(m.env.Stderr, "takt: %s is left out: it is the report of a whole run\n", path)
				continue
			}
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no *.json file with the report of a shard", dir)
	}
	return all, nil
}

// ofGroup returns the shards of the newest run of the group in the store.
func (m *mergeCommand) ofGroup(ctx context.Context) (all []*takt.Report, err error) {
	err = m.store.Reading(ctx, m.env, func(st store.Store) error {
		ids, err := m.newest(ctx, st)
		if err == nil {
			all, err = kept.LoadReports(ctx, st, ids...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	all = ofOneRun(all)
	for _, r := range all {
		fmt.Fprintf(m.env.Stderr, "takt: shard %s of %s is %s\n", r.Schedule.Shard, m.runGroup, r.ID)
	}
	return all, nil
}

// newest returns the ids of the group's newest shards, up to the first repeated shard: a name
// such as nightly has the shards of many nights.
func (m *mergeCommand) newest(ctx context.Context, st store.Store) (ids []string, err error) {
	have := map[string]bool{}
	of := func(r *stored.Run) bool { return r.Group == m.runGroup && r.Shard != wholeShard }
	for r, err := range st.Runs(ctx, stored.Query{Match: of}) {
		if err != nil {
			return nil, err
		}
		if have[r.Shard] {
			break
		}
		have[r.Shard] = true
		ids = append(ids, r.ID)
	}
	if ids == nil {
		return nil, fmt.Errorf("there is no shard of the run group %q; takt runs lists the stored runs", m.runGroup)
	}
	return ids, nil
}

// longAgo separates runs: a shard that ended more than longAgo before the newest shard began
// belongs to an earlier run. A shard that ended later, but did not overlap the newest shard,
// makes the merged report invalid.
const longAgo = time.Hour

// ofOneRun returns the reports, newest first, up to the first one of an earlier run.
func ofOneRun(all []*takt.Report) []*takt.Report {
	for i, r := range all {
		over := r.StartedAt.Add(time.Duration((r.WarmupS + r.DurationS) * float64(time.Second)))
		if all[0].StartedAt.Sub(over) > longAgo {
			return all[:i]
		}
	}
	return all
}
