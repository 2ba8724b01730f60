package http

import (
	"fmt" // add adds a step, which is in a group with those before that have the same name of a group.
	"slices"

	"github.com/taktload/takt/internal/journey" // add adds a step to those of its phase. Journeys have those of rounds.
)

func (s *file) add(at *step, users bool) {
	switch at.phase {
	case setUp:
		s.before.add(at, s.rulesOf(at, users))
	case tearDown:
		s.after.add(at, s.rulesOf(at, users))
	default:
		s.steps = append(s.steps, at)
	}
}
func (t *track) add(at *step, rules journey.Step) {
	for i := len(t.steps) - 1; i >= 0 && at.group != "" && t.steps[i].group == at.group; i-- {
		t.rules[i].Behind++
		rules.Before++
	}
	t.steps, t.rules = append(t.steps, at), append(t.rules, rules)
}

// isNeverEmpty reports whether each round has a step, whatever the values are that its steps capture. lists are those of
// @setup, which are known before the load.
func (t *track) isNeverEmpty(lists []string) bool {
	for i, r := range t.rules {
		list := t.rules[i-r.Before].Repeat.List
		if r.When == nil && t.rules[i-r.Before].When == nil && (list == "" || slices.Contains(lists, list)) {
			return true
		}
	}
	return false
}

// track is one journey: steps of the scenario, one behind the other.
type track struct {
	name   string
	weight float64
	from   int // its first step
	steps  []*step
	rules  []journey.Step // of steps
}

// all are the steps in the order of the file, and number is that of one of them, from 1.
func (s *file) all() []*step { return slices.Concat(s.before.steps, s.steps, s.after.steps) }

func (s *file) number(at *step) int { return slices.Index(s.all(), at) + 1 }

// buildTracks makes the journeys of the steps. lists are those of @setup.
func (s *file) buildTracks(lists []string, users bool) error {
	for i, at := range s.steps {
		if i > 0 && at.journey != "" && s.steps[0].journey == "" {
			return fmt.Errorf("the step of line %d begins the journey %s, but the first step begins none; write @journey NAME WEIGHT there, too", at.line, at.journey)
		}
		if at.journey != "" && slices.ContainsFunc(s.tracks, func(t *track) bool { return t.name == at.journey }) {
			return fmt.Errorf("two journeys have the name %s; give each a name of its own", at.journey)
		}
		if i == 0 || at.journey != "" {
			s.tracks = append(s.tracks, &track{name: at.journey, weight: at.weight, from: i})
		}
		s.tracks[len(s.tracks)-1].add(at, s.rulesOf(at, users))
		s.reacts = s.reacts || at.follow > 0
	}
	for _, t := range s.tracks {
		if s.lasts && !t.isNeverEmpty(lists) {
			return fmt.Errorf("no step of the journey from line %d on is performed in every round: each has @once, a condition, or a list that may be empty; add one that has none", t.steps[0].line)
		}
		s.reacts = s.reacts || !journey.Fixed(t.rules) || t.name != ""
	}
	return nil
}

// rulesOf are the rules of a step as a journey has them.
func (s *file) rulesOf(at *step, users bool) journey.Step {
	rules := at.rules.of(at.think)
	if at.once && users {
		s.lasts = true
		s.lasting = append(s.lasting, at.values()...)
		rules.When = append(rules.When, journey.Condition{Not: true, Holds: func(u journey.User) bool { return u.Self.(round).Did(at) }})
	}
	return rules
}

// holds asks a condition of a step for a round.
func (c *condition) holds(v round) bool {
	is := v.Value(c.name)
	return is != nil && c.Holds([][]byte{is}, v.Fill(c.want)) == nil
}
