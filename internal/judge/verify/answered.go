package verify

import "github.com/taktload/takt/internal/judge/answers"

// AddAnswers adds what comparing the answers of both sides found. A wrong answer makes head worse, however fast
// it is; a difference that may be chance leaves it open whether head is.
func (j *Judgement) AddAnswers(r answers.Result) {
	j.Answers = &r
	switch {
	case r.Verdict == answers.Differ:
		j.Verdict = Regressed
	case r.Verdict == answers.Unproven && j.Verdict == OK:
		j.Verdict = Inconclusive
	}
}

// Unjudged is a judgement without runs. err says why they cannot be judged.
func Unjudged(o Options, err error) Judgement {
	_, head := o.names("base", "head")
	return Judgement{
		Verdict: Inconclusive, Tolerance: o.Tolerance, ErrorTolerance: o.ErrorTolerance, Confidence: o.Confidence,
		Head: Side{Name: head, Runs: []string{}}, Comparisons: []Comparison{}, Advice: []string{"the load could not be judged: " + err.Error()},
	}
}
