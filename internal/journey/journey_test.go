package journey

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/dist"
)

// walk performs a round whose steps have these results in turn, and names its steps, waits and end.
func walk(steps []Step, results ...Result) string {
	var words []string
	u := User{List: func(string) [][]byte { return [][]byte{{'a'}, {'b'}} }, Rand: rand.New(rand.NewPCG(1, 2)), Lose: func(step int) { words = append(words, fmt.Sprint("lose ", step)) }}
	n := Begin(steps, u)
	for i := 0; !n.Over; i++ {
		word := fmt.Sprint(n.Step, ".", n.Time())
		if n.Wait > 0 {
			word += fmt.Sprint(" after ", n.Wait)
		}
		if n.After {
			word += " of the answer"
		}
		words = append(words, word)
		var r Result
		if i < len(results) {
			r = results[i]
		}
		n = After(steps, n.Place, r, u)
		if n.Passed != nil {
			words = append(words, fmt.Sprint("not ", n.Passed))
		}
	}
	if n.Failed {
		words = append(words, "failed")
	}
	return strings.Join(words, ", ")
}

// group are the steps of several groups, one behind the other.
func group(groups ...[]Step) (steps []Step) {
	for _, g := range groups {
		for i := range g {
			g[i].Before, g[i].Behind = i, len(g)-1-i
		}
		steps = append(steps, g...)
	}
	return steps
}

func TestJourney(t *testing.T) {
	failed, refused, done := Result{Class: "4xx", Status: 404}, Result{Class: "5xx", Status: 503}, Result{Done: true}
	think := dist.Fixed(time.Second)
	until := func(most int) []Condition {
		asked := 0
		return []Condition{{Not: true, Holds: func(User) bool { asked++; return asked > most }}}
	}
	is := func(yes bool) []Condition { return []Condition{{Holds: func(User) bool { return yes }}} }
	retry := &Retry{Times: 2, On: func(_ string, status int) bool { return status == 503 }, Backoff: dist.Fixed(100 * time.Millisecond)}
	poll := &Poll{Every: dist.Fixed(time.Minute), Most: 3}
	for _, c := range []struct {
		steps   []Step
		results []Result
		want    string
	}{
		{[]Step{{}, {Think: think}, {}}, nil, "0.0, 1.0 after 1s, 2.0"},
		{[]Step{{Think: think}, {}}, []Result{failed}, "0.0, failed"},
		{[]Step{{Optional: true}, {}}, []Result{failed}, "0.0, 1.0"},
		{[]Step{{}, {When: is(false)}, {When: is(true)}}, nil, "0.0, not [1], 2.0"},
		{[]Step{{}, {When: is(false)}}, nil, "0.0, not [1]"},
		{[]Step{{Think: think, Repeat: Repeat{From: 1, To: 3}}}, nil, "0.0, 0.1 after 1s, 0.2 after 1s"},
		{[]Step{{}, {Repeat: Repeat{List: "x"}}, {}}, nil, "0.0, 1.0, 1.1, 2.0"},
		{[]Step{{Repeat: Repeat{From: 1, To: 2}, Optional: true}, {}}, []Result{failed}, "0.0, 0.1, 1.0"},
		{[]Step{{Retry: retry}, {}}, []Result{refused, refused}, "0.0, 0.0 after 100ms of the answer, 0.0 after 200ms of the answer, 1.0"},
		{[]Step{{Retry: retry}, {}}, []Result{refused, refused, refused}, "0.0, 0.0 after 100ms of the answer, 0.0 after 200ms of the answer, failed"},
		{[]Step{{Retry: retry}, {}}, []Result{failed}, "0.0, failed"},
		{[]Step{{Poll: poll}, {}}, []Result{{}, done}, "0.0, 0.0 after 1m0s of the answer, 1.0"},
		{[]Step{{Poll: poll}, {}}, []Result{{}, {}, {Class: "check"}}, "0.0, 0.0 after 1m0s of the answer, 0.0 after 1m0s of the answer, failed"},
		{[]Step{{Poll: poll, Retry: retry, Repeat: Repeat{From: 1, To: 2}}}, []Result{refused, {}, refused, refused, done, done}, "0.0, 0.0 after 100ms of the answer, 0.0 after 1m0s of the answer, " +
			"0.0 after 100ms of the answer, 0.0 after 200ms of the answer, 0.1"},
		{group([]Step{{Repeat: Repeat{From: 1, To: 2}}, {Think: think}}, []Step{{}}), nil, "0.0, 1.0 after 1s, 0.1, 1.1 after 1s, 2.0"},
		{group([]Step{{}}, []Step{{When: is(false)}, {}, {}}, []Step{{}}), nil, "0.0, not [1 2 3], 4.0"},
		{group([]Step{{When: until(3), Repeat: Repeat{From: 1, To: 9}}, {}}, []Step{{}}), nil, "0.0, 1.0, 0.1, 1.1, 0.2, 1.2, 2.0"},
		{group([]Step{{Repeat: Repeat{List: "x"}}, {When: is(false)}, {}, {When: is(false)}}), nil, "0.0, not [1], 2.0, not [3], 0.1, lose 1, not [1], 2.1, lose 3, not [3]"},
		{group([]Step{{Repeat: Repeat{From: 1, To: 2}}, {When: is(false)}}, []Step{{When: is(false)}}, []Step{{}}), nil, "0.0, not [1], 0.1, lose 1, not [1 2], 3.0"},
		{group([]Step{{Repeat: Repeat{From: 1, To: 2}, Retry: retry}, {Poll: poll, Optional: true}}), []Result{refused, {}, {}, failed, {}, done}, "0.0, 0.0 after 100ms of the answer, 1.0, 1.0 after 1m0s of the answer, 0.1, 1.1"},
		{group([]Step{{Repeat: Repeat{From: 1, To: 2}}, {}}), []Result{{}, failed}, "0.0, 1.0, failed"},
	} {
		if got := walk(c.steps, c.results...); got != c.want {
			t.Errorf("%+v, %+v:\n%s, want\n%s", c.steps, c.results, got, c.want)
		}
	}
	if !Fixed([]Step{{}, {Think: think}}) || Fixed([]Step{{}, {Optional: true}}) {
		t.Error("whether all steps are performed once is wrong")
	}
	place := Place{}
	for i := range poll.Most {
		if last := place.IsLastPoll(&Step{Poll: poll}); last != (i == poll.Most-1) {
			t.Errorf("look %d is the last: %v", i, last)
		}
		place = After([]Step{{Poll: poll}}, place, Result{}, User{List: func(string) [][]byte { return nil }}).Place
	}
}

// A pause doubles up to a bound, however often a step is tried.
func TestBackoffIsBounded(t *testing.T) {
	steps := []Step{{Retry: &Retry{Times: 100, On: func(string, int) bool { return true }, Backoff: dist.Fixed(time.Hour)}}}
	n := Begin(steps, User{})
	for range 100 {
		n = After(steps, n.Place, Result{Class: "5xx"}, User{})
		if n.Over || n.Wait <= 0 || n.Wait > longestBackoff {
			t.Fatalf("%+v", n)
		}
	}
}
