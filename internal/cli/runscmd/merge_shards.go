package runscmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// shards calls add with the shards that the words name, limited to the run group if one is given. It has
// one report at a time in memory.
func (m *mergeCommand) shards(ctx context.Context, words []string, add func(*takt.Report) error) error {
	if len(words) == 0 {
		return m.ofGroup(ctx, add)
	}
	added := 0
	matching := func(r *takt.Report) error {
		if m.runGroup != "" && r.Schedule.RunGroup != m.runGroup {
			return nil
		}
		added++
		return add(r)
	}
	files, runs, err := filesOf(words)
	if err != nil {
		return err
	}
	if err := m.fromFiles(ctx, files, matching); err != nil {
		return err
	}
	if err := m.store.EachReport(ctx, m.env, runs, matching); err != nil {
		return err
	}
	if added == 0 {
		return fmt.Errorf("none of the reports belongs to the run group %q", m.runGroup)
	}
	return nil
}

// shardFile is a file of reports.
type shardFile struct{ path, folder string } // folder "": the user named the file

// filesOf are the files that the words name, or that are in folders that they name, and the other words.
func filesOf(words []string) (found []shardFile, others []string, err error) {
	for _, word := range words {
		info, err := files.Stat(word)
		switch {
		case err != nil:
			others = append(others, word)
		case !info.IsDir():
			found = append(found, shardFile{word, ""})
		default:
			list, err := inFolder(word)
			if err != nil {
				return nil, nil, err
			}
			found = append(found, list...)
		}
	}
	return found, others, nil
}

// inFolder returns the *.json files of a folder.
func inFolder(dir string) (found []shardFile, err error) {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() && filepath.Ext(e.Name()) == ".json" && !strings.HasPrefix(e.Name(), ".") {
			found = append(found, shardFile{filepath.Join(dir, e.Name()), dir})
		}
	}
	if found == nil {
		return nil, withoutShards(dir)
	}
	return found, nil
}

func withoutShards(dir string) error {
	return fmt.Errorf("%s has no *.json file with the report of a shard", dir)
}

// fromFiles calls add with the shards of files. In a folder it skips reports of whole runs, such as the
// output of an earlier merge, but one of its files must have a shard.
func (m *mergeCommand) fromFiles(ctx context.Context, files []shardFile, add func(*takt.Report) error) error {
	var sources []kept.Source
	for _, f := range files {
		sources = append(sources, func(do func(*takt.Report) error) error { return kept.EachReport(m.env, f.path, do) })
	}
	found := map[string]bool{"": true}
	err := kept.Ahead(ctx, sources, func(i int, r *takt.Report) error {
		if f := files[i]; f.folder != "" && r.Schedule.Shard == takt.WholeShard {
			fmt.Fprintf(m.env.Stderr, "takt: %s is left out: it is the report of a whole run\n", f.path)
			return nil
		}
		found[files[i].folder] = true
		return add(r)
	})
	if err != nil {
		return err
	}
	for _, f := range files {
		if !found[f.folder] {
			return withoutShards(f.folder)
		}
	}
	return nil
}

// fewShards is the largest number of shards whose ids are told one by one.
const fewShards = 20

// errEarlier ends the reading of a group: the other shards belong to earlier runs.
var errEarlier = errors.New("the shard belongs to an earlier run")

// fromStore is a stored run.
func fromStore(ctx context.Context, st store.Store, id string) kept.Source {
	return func(do func(*takt.Report) error) error {
		list, err := kept.LoadReports(ctx, st, id)
		if err != nil {
			return err
		}
		return do(list[0])
	}
}

// ofGroup calls add with the shards of the newest run of the group in the store.
func (m *mergeCommand) ofGroup(ctx context.Context, add func(*takt.Report) error) error {
	var told []string
	err := m.store.Reading(ctx, m.env, func(st store.Store) error {
		ids, err := m.newest(ctx, st)
		if err != nil {
			return err
		}
		var sources []kept.Source
		for _, id := range ids {
			sources = append(sources, fromStore(ctx, st, id))
		}
		var newest *takt.Report
		err = kept.Ahead(ctx, sources, func(_ int, r *takt.Report) error {
			if newest == nil {
				newest = r
			} else if ofEarlierRun(r, newest) {
				return errEarlier
			}
			told = append(told, fmt.Sprintf("shard %s of %s is %s", r.Schedule.Shard, m.runGroup, r.ID))
			return add(r)
		})
		if errors.Is(err, errEarlier) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(told) > fewShards {
		told = []string{fmt.Sprintf("merging %d shards of %s; takt runs run_group=%[2]s lists them", len(told), m.runGroup)}
	}
	for _, line := range told {
		fmt.Fprintf(m.env.Stderr, "takt: %s\n", line)
	}
	return nil
}

// newest returns the ids of the group's newest shards, up to the first repeated shard: a name
// such as nightly has the shards of many nights.
func (m *mergeCommand) newest(ctx context.Context, st store.Store) (ids []string, err error) {
	have := map[string]bool{}
	of := func(r *stored.Run) bool { return r.Shard != takt.WholeShard }
	for r, err := range st.Runs(ctx, stored.Query{Group: m.runGroup, Match: of}) {
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

// ofEarlierRun reports whether a shard belongs to an earlier run than the newest shard of its group.
func ofEarlierRun(r, newest *takt.Report) bool {
	over := r.StartedAt.Add(time.Duration((r.WarmupS + r.DurationS) * float64(time.Second)))
	return newest.StartedAt.Sub(over) > longAgo
}
