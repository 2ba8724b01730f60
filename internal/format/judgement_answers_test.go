package format_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/answers"
	"github.com/taktload/takt/internal/judge/verify"
)

// answered is a judgement of runs that are fine and of answers that differ: at one place always, at one once, and
// one text of head is up to mischief.
func answered(t *testing.T) verify.Judgement {
	t.Helper()
	answer := func(body, id string) *answers.Answer {
		return &answers.Answer{Request: "GET /a|b", Status: 200, Header: http.Header{"X-Id": {id}}, Body: []byte(body), Whole: true}
	}
	c := answers.New(nil, nil)
	for i := range 100 {
		first, base, head := answer(`{"total":1,"text":"a"}`, "1"), answer(`{"total":1,"text":"a"}`, "2"), answer(`{"total":"1","text":"a"}`, "3")
		if i == 50 {
			head = answer("{\"total\":\"1\",\"text\":\"<b>|@everyone \u001b[31m\"}", "3")
			head.Body = []byte(strings.ReplaceAll(string(head.Body), "\x1b", `\u009b`))
		}
		if c.Compare(first, base, head) && i < 50 {
			c.Repeat(base, head, base, head)
		}
	}
	j := judged(t, 8, nil)
	j.AddAnswers(c.Result(100, 0.95))
	return j
}

func TestJudgementOfAnswersGolden(t *testing.T) {
	j := answered(t)
	if j.Verdict != verify.Regressed {
		t.Errorf("%s", j.Verdict)
	}
	for _, f := range format.Judgements() {
		s := judgementAs(t, j, f, false)
		if strings.ContainsAny(s, "\x1b\u009b") || strings.Contains(s, "<b>") && f != "markdown" && f != "text" && f != "json" {
			t.Errorf("%s: a text of the server is shown as it is", f)
		}
		if f != "html" { // its package tests pages
			golden(t, filepath.Join("testdata", "judgement", "answered."+f), s)
		}
	}
}
