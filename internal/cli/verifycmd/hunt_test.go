package verifycmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/checkout"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/verify"
)

func TestSentence(t *testing.T) {
	suspect := func(hash string, chance float64) verify.Suspect {
		return verify.Suspect{Commit: verify.Commit{Hash: hash + "0123456789", Subject: "subject " + hash}, Chance: chance}
	}
	merge := suspect("c", 0.99965)
	merge.Merge = true
	for _, test := range []struct {
		culprit verify.Culprit
		want    string
		ended   bool
	}{
		{
			verify.Culprit{Metric: "p50", Found: true, Chance: 0.951, Commits: []verify.Suspect{suspect("a", 0.951)}},
			"p50: the first worse commit is a012345678 (subject a), with a probability of 95.1 %",
			false,
		}, {
			verify.Culprit{Metric: "p50", Found: true, Chance: 0.99965, Commits: []verify.Suspect{merge}},
			"p50: the first worse commit is c012345678 (subject c), with a probability of 99.9 %; the commit is a merge, and --git c012345678^1..c012345678^2 --bisect looks into it",
			false,
		}, {
			verify.Culprit{Metric: "p99", Found: true, Chance: 1, Commits: []verify.Suspect{suspect("a", 0.3), suspect("b", 0.3), suspect("c", 0.4)}},
			"p99: the first worse commit is c012345678 (subject c), or one before it that could not be compared: a012345678 (subject a), b012345678 (subject b); with a probability of 100 %",
			false,
		}, {
			verify.Culprit{Metric: "p99", Pairs: 100, Commits: []verify.Suspect{suspect("a", 0.3), suspect("b", 0.6)}},
			"p99: the first worse commit was not found with 100 pairs; most likely: b012345678 (subject b) (60 %), a012345678 (subject a) (30 %); raise --bisect-pairs, or make longer runs",
			false,
		}, {
			verify.Culprit{Metric: "p99", Pairs: 1, Commits: []verify.Suspect{suspect("a", 0.1), suspect("b", 0.1), suspect("c", 0.1), suspect("d", 0.1), suspect("e", 0.1), suspect("f", 0.1), suspect("g", 0.2)}},
			"p99: the first worse commit was not found with 1 pair; most likely: g012345678 (subject g) (20 %), a012345678 (subject a) (10 %), b012345678 (subject b) (10 %), c012345678 (subject c) (10 %), d012345678 (subject d) (10 %), 2 commits more; raise --bisect-pairs, or make longer runs",
			false,
		}, {
			verify.Culprit{Metric: "p99", Pairs: 3, Chance: 0.9, Commits: []verify.Suspect{suspect("a", 0.3), suspect("b", 0.6)}},
			"p99: ended after 3 pairs; the first worse commit is one of 2 commits, with a probability of 90 %: b012345678 (subject b) (60 %), a012345678 (subject a) (30 %)",
			true,
		},
	} {
		if got := sentence(test.culprit, test.ended, "raise --bisect-pairs"); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}

// The clearest regression is searched first, and its commit is expected for the others.
func TestHuntOrder(t *testing.T) {
	bound := func(v float64) *float64 { return &v }
	j := verify.Judgement{Comparisons: []verify.Comparison{{Findings: []verify.Finding{
		{Metric: "p99", Difference: 0.4, Low: bound(0.1), High: bound(0.9), Verdict: verify.Regressed},
		{Metric: "errors", Verdict: verify.OK},
		{Metric: "rate", Difference: -0.2, Low: bound(-0.21), High: bound(-0.19), Verdict: verify.Regressed},
	}}}}
	if list := worst(&j); len(list) != 2 || list[0].Metric != "rate" || list[1].Metric != "p99" {
		t.Errorf("%v", list)
	}
	h := hunt{history: []checkout.Commit{{Hash: "a"}, {Hash: "b"}, {Hash: "c"}}}
	found := verify.Culprit{Found: true, Commits: []verify.Suspect{{Commit: verify.Commit{Hash: "b"}}, {Commit: verify.Commit{Hash: "c"}}}}
	if at := h.indexes([]verify.Culprit{found, {Commits: found.Commits[:1]}, found}); len(at) != 1 || at[0] != 2 {
		t.Errorf("%v", at)
	}
}

// Metrics with one commit are one sentence, with the least of their probabilities.
func TestTogether(t *testing.T) {
	at := func(hash string) []verify.Suspect { return []verify.Suspect{{Commit: verify.Commit{Hash: hash}}} }
	list := []verify.Culprit{{Metric: "p50", Found: true, Chance: 0.99, Commits: at("a")}, {Metric: "p99", Found: true, Chance: 0.97, Commits: at("b")}, {Metric: "rate", Found: true, Chance: 0.96, Commits: at("a")}, {Metric: "max_rss", Commits: at("a")}}
	var got []string
	for _, c := range together(list) {
		got = append(got, fmt.Sprint(c.Metric, " ", c.Chance))
	}
	if want := []string{"p50, rate 0.96", "p99 0.97", "max_rss 0"}; !slices.Equal(got, want) || list[0].Metric != "p50" {
		t.Errorf("%q, want %q", got, want)
	}
}

// Whatever ends a bisection, the judgement has what is known, and why it ended.
func TestConclude(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(&core.SignalError{Number: 2})
	regressed := []verify.Finding{{Metric: "p50"}, {Metric: "rate"}, {Metric: "max_rss"}}
	for _, test := range []struct {
		ctx    context.Context
		err    error
		found  bool
		end    verify.BisectEnd
		code   int
		advice []string
	}{
		{t.Context(), nil, true, verify.BisectFound, 0, []string{"p50: the first worse", "before"}},
		{t.Context(), nil, false, verify.BisectLimit, 0, []string{"p50: the first worse commit was not found", "before"}},
		{t.Context(), errDisturbed, false, verify.BisectDisturbed, 0, []string{"p50: ended", "rate, max_rss: not searched", "the bisection ended early: 10 pairs", "before"}},
		{t.Context(), core.ExitWith(core.ExitBase, errors.New("no server")), false, verify.BisectFailed, core.ExitBase, []string{"p50: ended", "rate, max_rss: not searched", "the bisection ended early: no server", "before"}},
		{interrupted, context.Canceled, false, verify.BisectInterrupted, 130, []string{"p50: ended", "rate, max_rss: not searched", "before"}},
	} {
		h := hunt{block: &block{ctx: test.ctx}}
		j := verify.Judgement{Advice: []string{"before"}, Bisect: []verify.Culprit{{Metric: "p50", Found: test.found, Commits: make([]verify.Suspect, 1)}}}
		list := regressed
		if test.err == nil {
			list = list[:1]
		}
		h.budget = test.end == verify.BisectLimit
		err := h.conclude(test.err, list, &j)
		if limit := strings.Join(j.Advice, ""); h.budget && (!strings.Contains(limit, "the budget is used up; raise --budget,") || strings.Contains(limit, "--bisect-pairs")) {
			t.Errorf("the budget ended the search: %s", limit)
		}
		var exit *core.ExitError
		if code := 0; j.BisectEnded != test.end || errors.As(err, &exit) && exit.Code != test.code || (err == nil) != (test.code == code) {
			t.Errorf("%s: %v", j.BisectEnded, err)
		}
		if !slices.EqualFunc(j.Advice, test.advice, strings.HasPrefix) {
			t.Errorf("%s: %q", test.end, j.Advice)
		}
	}
}

// A judgement without a regression says that there was no search.
func TestNoSearch(t *testing.T) {
	j := verify.Judgement{Verdict: verify.Inconclusive, Advice: []string{"before"}}
	noSearch(&j)
	if j.BisectEnded != "none" || len(j.Advice) != 2 || !strings.HasPrefix(j.Advice[1], "no search for a commit: ") {
		t.Errorf("%+v", j)
	}
}
