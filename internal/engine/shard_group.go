package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/value"
)

// groupVariable is the variable of --run-group itself.
const groupVariable = "TAKT_RUN_GROUP"

// RunGroup is the value of --run-group: the name that all shards of a run have in common.
type RunGroup struct {
	name string // "": none was given
	from string // the variable that Resolve read, with its value; "": the user gave the name
}

// Set implements flag.Value.
func (g *RunGroup) Set(text string) error {
	*g = RunGroup{name: text}
	return nil
}

func (g RunGroup) String() string { return g.name }

// Resolved returns the name and the variable that it is from, if the user did not give it.
func (g RunGroup) Resolved() (text, from string) { return g.name, g.from }

// job is the id of the launcher's job that all its processes have in common; "": unknown.
func (v variables) job(l *launcher) string {
	if l.job == "" {
		return ""
	}
	id := v(l.job)
	if l.parent != "" {
		id, _, _ = strings.Cut(id, l.parent)
	}
	return id
}

// resolveGroup replaces a run group that is auto, or one left open beside a shard that a launcher
// numbers: merging needs a group, and the id of the job is the one that the user knows.
func (v variables) resolveGroup(group *RunGroup, by *launcher) error {
	asked := group.name == auto
	if !asked && (group.name != "" || by == nil) {
		return nil
	}
	switch text := v(groupVariable); {
	case text != "" && text != auto:
		*group = RunGroup{text, v.shown(groupVariable)}
	case by != nil && v.job(by) != "":
		*group = RunGroup{v.job(by), v.shown(by.job)}
	case asked:
		var err error
		*group, err = v.onlyJob()
		return value.About(err, "run-group")
	}
	return nil
}

// onlyJob is the id of the only job in the environment.
func (v variables) onlyJob() (RunGroup, error) {
	var ids, said []string
	for _, l := range launchers() {
		if id := v.job(&l); id != "" && (l.within == "" || v(l.within) == "") {
			ids, said = append(ids, id), append(said, v.shown(l.job))
		}
	}
	switch len(ids) {
	case 0:
		return RunGroup{}, v.noJob()
	case 1:
		return RunGroup{ids[0], said[0]}, nil
	}
	return RunGroup{}, fmt.Errorf("--run-group auto: there are the ids of several jobs, %s; give --run-group NAME", strings.Join(said, " and "))
}

// noJob is the error for an environment without the id of a job.
func (v variables) noJob() error {
	looked := []string{groupVariable}
	for _, l := range launchers() {
		if l.job != "" {
			looked = append(looked, l.job)
		}
	}
	return errors.New("--run-group auto: no variable has the id of the run: takt looked for " + strings.Join(looked, ", ") + "; give --run-group NAME, or set " + groupVariable)
}
