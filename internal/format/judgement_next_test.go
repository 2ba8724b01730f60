package format_test

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/answers"
	"github.com/taktload/takt/internal/judge/functions"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
)

// Below the verdict is what to do next: it follows from what is known, and a text of a server is no command.
func TestNext(t *testing.T) {
	commit := &verify.Commit{Hash: "c961d664fbe5893d", Subject: "cart: `read` prices"}
	found := []verify.Culprit{{Metric: "p99", Found: true, Chance: 0.98, Commits: []verify.Suspect{{Commit: *commit, Chance: 0.98, Pairs: 3}}}}
	slow := &functions.Result{Pairs: 8, Functions: []functions.Function{{Name: "main.slow", Difference: 31, Word: functions.Slower}, {Name: "main.same"}}}
	for name, c := range map[string]struct {
		change    func(j *verify.Judgement)
		next, not string
	}{
		"URLs":    {func(*verify.Judgement) {}, "look at what changed between 02fe43b0d3a5 and c961d664fbe5", "--bisect"},
		"commits": {func(j *verify.Judgement) { j.Head.Commit = commit }, "or repeat with --bisect, which finds the commit, and --profile auto", ""},
		"commit":  {func(j *verify.Judgement) { j.Head.Commit, j.Bisect = commit, found }, "look at commit c961d664fb (cart: `read` prices)", "what changed"},
		"function": {func(j *verify.Judgement) {
			j.Head.Commit, j.Bisect, j.Functions = commit, append(found, found...), slow
		}, "prices), and at function main.slow, which needs 31µs more of a request", "what changed"},
		"no function":    {func(j *verify.Judgement) { j.Head.Commit, j.Functions = commit, &functions.Result{} }, "look at what changed between", "--profile"},
		"only functions": {func(j *verify.Judgement) { j.Head.Commit, j.Bisect = commit, []verify.Culprit{} }, "or repeat with --profile auto", "--bisect"},
		"answers": {func(j *verify.Judgement) {
			j.AddAnswers(answers.Result{Verdict: answers.Differ, Differing: 1, Requests: 1, Differences: []answers.Difference{{Path: "$.a'; rm -rf x", Proven: true, Example: answers.Example{Request: "GET /a"}}}})
		}, `in the answer to GET /a; if head may differ there, repeat with --answers-ignore '$.a'\''; rm -rf x', and if not, correct head`, ""},
	} {
		j := judged(t, 8, nil)
		c.change(&j)
		text := strings.Join(strings.Fields(judgementAs(t, j, "text", false)), " ")
		_, text, _ = strings.Cut(text, " next ")
		text, _, _ = strings.Cut(text, " tolerance 5 %")
		if !strings.Contains(text, c.next) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %s\nwant %s, and not %s", name, text, c.next, c.not)
		}
	}
	cheap := judged(t, 8, func(head []stored.Run) {
		for i := range head {
			head[i].Figures.Values[1] = 4000
		}
	})
	if text := judgementAs(t, cheap, "text", false); !strings.Contains(text, "\nnext         decide whether these costs matter: max_rss +100.0 %\n") {
		t.Error(text)
	}
	cheap.Comparisons[0].Costs = nil
	if text := judgementAs(t, cheap, "text", false); !strings.Contains(text, "\nnext         nothing has to be done\n") {
		t.Error(text)
	}
}

// What is not proven, and the probabilities of commits, are in what others read: the page and the Markdown.
func TestNotProven(t *testing.T) {
	j := judged(t, 4, nil)
	j.Head.Commit = &verify.Commit{Subject: "a"}
	j.Bisect = []verify.Culprit{{Metric: "p99", Commits: []verify.Suspect{{Commit: verify.Commit{Hash: "0123456789abcdef", Subject: "a|<b>"}, Chance: 0.4567, Pairs: 2, Skipped: "does not build"}}}}
	j.Functions = &functions.Result{Functions: []functions.Function{{Name: "main.same"}}}
	for f, want := range map[string][]string{
		"markdown": {"| p99 | 0123456789 | `a\\|<b>` | 45.6 % | 2 | `not compared: does not build` |", "- not found for p99", "- whether head is worse than 02fe43b0d3a5 by more than the tolerance in p50, p99, errors, rate, max\\_rss", "- whether head still answers the same", "- any change of 1 function"},
		"html":     {"<td class=\"w\">a|&lt;b&gt;<td>45.6 %", "<p>Whether head still answers the same", "<p>Any change of 1 function"},
	} {
		text := judgementAs(t, j, f, false)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %s in\n%s", f, part, text)
			}
		}
	}
	if text := judgementAs(t, j, "text", false); strings.Contains(text, "not proven") || strings.Contains(text, "45.6 %") {
		t.Error(text)
	}
}
