package value

import (
	"slices"

	"github.com/spf13/pflag"
)

// Group is a heading of help. Help shows the groups in the order of Groups.
type Group string

// The groups.
const (
	GroupTarget      Group = "Target and request"
	GroupBroker      Group = "Broker"
	GroupMessages    Group = "Messages"
	GroupLog         Group = "Log"
	GroupSides       Group = "Sides"
	GroupServer      Group = "Servers of commits"
	GroupSelection   Group = "Selection"
	GroupRewriting   Group = "Rewriting"
	GroupLoad        Group = "Load"
	GroupGoal        Group = "Goal"
	GroupSearch      Group = "Search"
	GroupJudgement   Group = "Judgement"
	GroupConnections Group = "Connections"
	GroupSecurity    Group = "Security"
	GroupBehaviour   Group = "Behaviour"
	GroupMeasurement Group = "Measurement"
	GroupGenerator   Group = "Generator"
	GroupAssertions  Group = "Assertions"
	GroupOutput      Group = "Output"
	GroupStorage     Group = "Store"
	GroupShell       Group = "Shell"
	GroupApmServer   Group = "apm-server"
	GroupGeneral     Group = "General"
)

// Groups lists the groups in the order of help.
func Groups() []Group {
	return []Group{
		GroupTarget, GroupBroker, GroupMessages, GroupLog, GroupSides, GroupServer, GroupSelection, GroupRewriting, GroupLoad, GroupGoal, GroupSearch, GroupJudgement, GroupConnections, GroupSecurity,
		GroupBehaviour, GroupMeasurement, GroupGenerator, GroupAssertions, GroupOutput, GroupStorage, GroupShell, GroupApmServer, GroupGeneral,
	}
}

const (
	groupMark = "takt-group"
	firstMark = "takt-first"
)

// Declare adds a family of flags to fs as members of a group, except those that are in a group
// already. first are the members that --help shows; --help-all shows all of them.
func Declare(fs *pflag.FlagSet, group Group, family func(*pflag.FlagSet), first ...string) {
	part := pflag.NewFlagSet(string(group), pflag.ContinueOnError)
	part.SortFlags = false
	family(part)
	part.VisitAll(func(f *pflag.Flag) {
		if GroupOf(f) == "" {
			mark(f, groupMark, string(group))
		}
		if slices.Contains(first, f.Name) {
			mark(f, firstMark, "")
		}
		fs.AddFlag(f)
	})
}

func mark(f *pflag.Flag, key, text string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = []string{text}
}

// GroupOf returns the group of a flag; "": it was not declared in one.
func GroupOf(f *pflag.Flag) Group {
	if list := f.Annotations[groupMark]; len(list) > 0 {
		return Group(list[0])
	}
	return ""
}

// IsFirst reports whether --help shows f, also when the command has many flags.
func IsFirst(f *pflag.Flag) bool { return f.Annotations[firstMark] != nil }
