package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/value"
)

// rules are what a step says about when it is performed, and how often.
type rules struct {
	optional   bool
	conditions []*condition
	repeat     journey.Repeat
	Until      *Check // of poll
	poll       *journey.Poll
	retry      *journey.Retry
	Follow     int // most redirects; 0: none are followed

	journey string // that begins with the step; "": none does
	weight  float64

	lines map[string]int // of the rules, by their word
	phase phase
	Once  bool       // each user of a closed loop performs the step until it has succeeded once
	group string     // "": it is alone
	Pace  *dist.Time // of the rounds that begin with the step; nil: a round begins when the last one is over
}

// phase is when in a run a step is performed. The steps of a file are in this order.
type phase int

// The zero phase is that of the rounds.
const (
	setUp phase = iota - 1 // once, before the load
	inRounds
	tearDown // once, after the load
)

// condition is one @when or @unless.
type condition struct {
	session.Check
	name string // of the value
	not  bool
	want *payload.Template
	line int
}

// The bounds of what a step may ask for.
const (
	maxRepeats = 10_000
	maxPolls   = 10_000
	maxRetries = 100
)

// errNoRule is for a word that is not one of rules.
var errNoRule = errors.New("no rule")

// set reads a line; errNoRule: the line is about something else.
func (r *rules) set(word, rest string, line int) (err error) {
	if r.lines == nil {
		r.lines = map[string]int{}
	}
	r.lines[word] = line
	switch word {
	case "@optional":
		r.optional, err = true, alone(word, rest)
	case "@once":
		r.Once, err = true, alone(word, rest)
	case "@setup":
		err = r.in(setUp, alone(word, rest))
	case "@teardown":
		err = r.in(tearDown, alone(word, rest))
	case "@group":
		if r.group = rest; rest == "" {
			err = errors.New("@group without a name; write @group cart in each step of the group")
		}
	case "@pace":
		r.Pace, err = parsePace(rest)
	case "@when", "@unless":
		c := &condition{not: word == "@unless", line: line}
		c.name, c.Check, err = session.ParseCondition(rest)
		r.conditions = append(r.conditions, c)
	case "@repeat":
		r.repeat, err = parseRepeat(rest)
	case "@until":
		if r.Until, err = parseCheck(rest); err == nil && r.Until.Timed {
			err = errors.New("@until is about what is in the answer, not about its time")
		}
	case "@poll":
		r.poll, err = parsePoll(rest)
	case "@retry":
		r.retry, err = parseRetry(rest)
	case "@follow":
		r.Follow, err = parseFollow(rest)
	case "@journey":
		r.journey, r.weight, err = parseJourney(rest)
	default:
		err = errNoRule
	}
	return err
}

// in puts the step into a phase, unless it is in another one.
func (r *rules) in(p phase, err error) error {
	if r.phase != inRounds && r.phase != p {
		return errors.New("both @setup and @teardown are in one step; write two steps")
	}
	r.phase = p
	return err
}

// alone refuses what is behind a word that has nothing behind it.
func alone(word, rest string) error {
	if rest == "" {
		return nil
	}
	return fmt.Errorf("%s has nothing behind it, not %.30q; for a condition write @when", word, rest)
}

// check finds rules that need others, or that make no sense beside others.
func (r *rules) check() error {
	switch {
	case r.Once && r.group != "":
		return errors.New("@once in a step of a group; leave one of the two out")
	case r.phase != inRounds && (r.Once || r.Pace != nil || r.journey != ""):
		return errors.New("@once, @pace and @journey are about rounds, and @setup and @teardown about steps outside of them; leave one of the two out")
	case r.Until != nil && r.poll == nil:
		return errors.New("@until needs @poll TIME MOST, such as @poll 500ms 20: after how long to ask again, and how many times at most")
	case r.poll != nil && r.Until == nil:
		return errors.New("@poll needs @until CHECK, such as @until json state == done")
	}
	return nil
}

// of are the rules as a journey has them; holds asks a condition for a round.
func (r *rules) of(think dist.Time) journey.Step {
	s := journey.Step{Think: think, Optional: r.optional, Repeat: r.repeat, Poll: r.poll, Retry: r.retry}
	for _, c := range r.conditions {
		s.When = append(s.When, journey.Condition{Not: c.not, Holds: func(u journey.User) bool { return c.holds(u.Self.(round)) }})
	}
	return s
}

// parseRepeat reads N, NAME in LIST, NAME in 1..N or NAME in 0..N by M.
func parseRepeat(text string) (r journey.Repeat, err error) {
	hint := func() (journey.Repeat, error) {
		return r, fmt.Errorf("%.40q does not say how often; write @repeat 3, @repeat id in ids for a list that a step before captures with @capture ids all …, @repeat page in 1..5 or @repeat first in 0..80 by 20, at most %d times", text, maxRepeats)
	}
	words := strings.Fields(text)
	switch {
	case len(words) == 1:
		if r.To, err = strconv.Atoi(words[0]); err != nil || r.To < 1 || r.To > maxRepeats {
			return hint()
		}
		r.From = 1
		return r, nil
	case len(words) == 5 && words[3] == "by" && strings.Contains(words[2], ".."):
		if r.By, err = strconv.Atoi(words[4]); err != nil || r.By < 1 {
			return hint()
		}
	case len(words) != 3:
		return hint()
	}
	if words[1] != "in" || !session.IsName(words[0]) {
		return hint()
	}
	r.Name = words[0]
	first, last, numbers := strings.Cut(words[2], "..")
	if !numbers {
		if r.List = words[2]; !session.IsName(r.List) {
			return hint()
		}
		return r, nil
	}
	var err2 error
	r.From, err = strconv.Atoi(first)
	r.To, err2 = strconv.Atoi(last)
	if err != nil || err2 != nil || r.From < 0 || r.To < r.From || r.To < 1 || (r.To-r.From)/max(1, r.By) >= maxRepeats {
		return hint()
	}
	return r, nil
}

// parsePace reads the time of a round.
func parsePace(text string) (*dist.Time, error) {
	d, err := dist.Parse(text)
	if err != nil || d.Most() == 0 {
		return nil, fmt.Errorf("%.30q is not the time of a round; write @pace 5s, 4s..6s, exp(5s) or lognormal(5s,0.5), at most 1h", text)
	}
	return &d, nil
}

// parsePoll reads TIME MOST.
func parsePoll(text string) (*journey.Poll, error) {
	every, most, _ := strings.Cut(text, " ")
	d, err := dist.Parse(every)
	n, err2 := strconv.Atoi(strings.TrimSpace(most))
	if err != nil || err2 != nil || every == "" || n < 1 || n > maxPolls {
		return nil, fmt.Errorf("%.40q is not a time and a number; write @poll 500ms 20: 500 ms after each answer, and 20 times at most", text)
	}
	return &journey.Poll{Every: d, Most: n}, nil
}

// noAnswer is the word for a failure without an answer.
const noAnswer = "error"

// retried is what is tried again unless a step says it: what means that another try may be better.
const retried = "429,502,503,504," + noAnswer

// parseRetry reads N, N STATUSES or N STATUSES PAUSE.
func parseRetry(text string) (*journey.Retry, error) {
	words := strings.Fields(text)
	fault := func() (*journey.Retry, error) {
		return nil, fmt.Errorf("%.40q does not say how often and when; write @retry 3, or @retry 3 429,5xx,%s 100ms..200ms: at most 3 more times, after these statuses or without an answer, and after a pause that doubles", text, noAnswer)
	}
	if len(words) == 0 || len(words) > 3 {
		return fault()
	}
	for len(words) < 3 {
		words = append(words, []string{retried, "100ms..200ms"}[len(words)-1])
	}
	n, err := strconv.Atoi(words[0])
	pause, err2 := dist.Parse(words[2])
	var statuses httpreq.FailOn
	var list []string
	silent := false
	for _, one := range strings.Split(words[1], ",") {
		if one == noAnswer {
			silent = true
		} else {
			list = append(list, one)
		}
	}
	var err3 error
	if list != nil {
		err3 = statuses.Set(strings.Join(list, ","))
	}
	if err != nil || err2 != nil || err3 != nil || n < 1 || n > maxRetries {
		return fault()
	}
	return &journey.Retry{Times: n, Backoff: pause, On: func(_ string, status int) bool {
		return status == 0 && silent || statuses.Class(status) != ""
	}}, nil
}

// parseJourney reads NAME or NAME WEIGHT.
func parseJourney(text string) (name string, weight float64, err error) {
	name, rest := strings.TrimSpace(text), ""
	if i := strings.LastIndexByte(name, ' '); i > 0 {
		name, rest = strings.TrimSpace(name[:i]), name[i+1:]
	}
	weight = 1
	if rest != "" {
		var ok bool
		if weight, ok = value.ParseNumber(strings.TrimSuffix(rest, "%")); !ok || weight <= 0 || weight > 1e6 {
			return "", 0, fmt.Errorf("%.30q is not a weight; write @journey buy 30: of all rounds, 30 of the sum of all weights are this journey", rest)
		}
	}
	if name == "" {
		return "", 0, errors.New("@journey without a name; write @journey buy 30")
	}
	return name, weight, nil
}

// parseFollow reads a number of redirects, or nothing.
func parseFollow(text string) (int, error) {
	if text == "" {
		return usualHops, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostHops {
		return 0, fmt.Errorf("%.30q is not a number of redirects; write @follow, or @follow 3, at most %d", text, mostHops)
	}
	return n, nil
}

// The number of redirects that a step follows, unless it says another one, and the largest one.
const (
	usualHops = 10
	mostHops  = 100
)
