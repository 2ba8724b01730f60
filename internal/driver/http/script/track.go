package script

import (
	"fmt" // add adds a step, which is in a group with those before that have the same name of a group.
	"slices"

	"github.com/taktload/takt/internal/journey" // add adds a step to those of its phase. Journeys have those of rounds.
)

func (s *File) add(at *Step, users bool) {
	switch at.phase {
	case setUp:
		s.Before.add(at, s.rulesOf(at, users))
	case tearDown:
		s.After.add(at, s.rulesOf(at, users))
	default:
		s.Steps = append(s.Steps, at)
	}
}
func (t *Track) add(at *Step, rules journey.Step) {
	for i := len(t.Steps) - 1; i >= 0 && at.group != "" && t.Steps[i].group == at.group; i-- {
		t.Rules[i].Behind++
		rules.Before++
	}
	t.Steps, t.Rules = append(t.Steps, at), append(t.Rules, rules)
}

// isNeverEmpty reports whether each round has a step, whatever the values are that its steps capture. lists are those of
// @setup, which are known before the load.
func (t *Track) isNeverEmpty(lists []string) bool {
	for i, r := range t.Rules {
		list := t.Rules[i-r.Before].Repeat.List
		if r.When == nil && t.Rules[i-r.Before].When == nil && (list == "" || slices.Contains(lists, list)) {
			return true
		}
	}
	return false
}

// Track is one journey: steps of the scenario, one behind the other.
type Track struct {
	name   string
	Weight float64
	From   int // its first step
	Steps  []*Step
	Rules  []journey.Step // of steps
}

// all are the steps in the order of the file, and number is that of one of them, from 1.
func (s *File) all() []*Step { return slices.Concat(s.Before.Steps, s.Steps, s.After.Steps) }

func (s *File) Number(at *Step) int { return slices.Index(s.all(), at) + 1 }

// buildTracks makes the journeys of the steps. lists are those of @setup.
func (s *File) buildTracks(lists []string, users bool) error {
	for i, at := range s.Steps {
		if i > 0 && at.journey != "" && s.Steps[0].journey == "" {
			return fmt.Errorf("the step of line %d begins the journey %s, but the first step begins none; write @journey NAME WEIGHT there, too", at.Line, at.journey)
		}
		if at.journey != "" && slices.ContainsFunc(s.Tracks, func(t *Track) bool { return t.name == at.journey }) {
			return fmt.Errorf("two journeys have the name %s; give each a name of its own", at.journey)
		}
		if i == 0 || at.journey != "" {
			s.Tracks = append(s.Tracks, &Track{name: at.journey, Weight: at.weight, From: i})
		}
		s.Tracks[len(s.Tracks)-1].add(at, s.rulesOf(at, users))
		s.Reacts = s.Reacts || at.Follow > 0
	}
	for _, t := range s.Tracks {
		if s.Lasts && !t.isNeverEmpty(lists) {
			return fmt.Errorf("no step of the journey from line %d on is performed in every round: each has @once, a condition, or a list that may be empty; add one that has none", t.Steps[0].Line)
		}
		s.Reacts = s.Reacts || !journey.Fixed(t.Rules) || t.name != ""
	}
	return nil
}

// rulesOf are the rules of a step as a journey has them.
func (s *File) rulesOf(at *Step, users bool) journey.Step {
	rules := at.rules.of(at.Think)
	if at.Once && users {
		s.Lasts = true
		s.Lasting = append(s.Lasting, at.Values()...)
		rules.When = append(rules.When, journey.Condition{Not: true, Holds: func(u journey.User) bool { return u.Self.(round).Did(at) }})
	}
	return rules
}

// holds asks a condition of a step for a round.
func (c *condition) holds(v round) bool {
	is := v.Value(c.name)
	return is != nil && c.Holds([][]byte{is}, v.Fill(c.want)) == nil
}
