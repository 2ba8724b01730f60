package generators

import (
	"testing"
)

// steady is a run in which everything is as it should be.
func steady() TrialRun {
	return TrialRun{
		Said: Said{Figures: map[string]float64{
			Answered: 3000, Errors: 0, Rate: 500, P50: 1.1, P90: 1.2, P99: 1.8, Max: 9,
		}},
		Exit:   "exit status 0",
		Served: Served{Requests: 3000, Answered: 3000, Rate: 500, Whole: 499.9, LateP99: 0.4, TargetP99: 0.2, TargetWorst: 1},
		Felt:   Felt{Due: 3000, P50: 1, P90: 1, P99: 1, Max: 1},
	}
}

func TestCells(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *TrialRun)
		weak   bool
		figure string
		want   State
	}{
		"right":                              {func(*TrialRun) {}, false, P99, Right},
		"p99 hidden":                         {func(r *TrialRun) { r.Felt.P99 = 951 }, false, P99, Wrong},
		"p99 within 10 %":                    {func(r *TrialRun) { r.Felt.P99, r.Said.Figures[P99] = 951, 917 }, false, P99, Right},
		"p99 beyond":                         {func(r *TrialRun) { r.Felt.P99, r.Said.Figures[P99] = 951, 800 }, false, P99, Wrong},
		"p99 wrong in a run called invalid":  {func(r *TrialRun) { r.Felt.P99, r.Said.Invalid = 951, true }, false, P99, Admitted},
		"p99 wrong, a warning is no pardon":  {func(r *TrialRun) { r.Felt.P99, r.Said.Words = 951, []string{"slow"} }, false, P99, Wrong},
		"p99 not printed":                    {func(r *TrialRun) { delete(r.Said.Figures, P99) }, false, P99, NotPrinted},
		"p99 hidden by a late target":        {func(r *TrialRun) { r.Felt.P99, r.Served.TargetP99, r.Served.TargetWorst = 951, 6, 100 }, false, P99, Wrong},
		"p99 above, on a busy machine":       {func(r *TrialRun) { r.Said.Figures[P99], r.Served.TargetP99, r.Served.TargetWorst = 30, 6, 20 }, false, P99, Unclear},
		"p99 far above, on a busy machine":   {func(r *TrialRun) { r.Said.Figures[P99], r.Served.TargetP99, r.Served.TargetWorst = 60, 6, 20 }, false, P99, Wrong},
		"p99 above, on a quiet machine":      {func(r *TrialRun) { r.Said.Figures[P99], r.Served.TargetWorst = 30, 20 }, false, P99, Wrong},
		"p99 near that of a late target":     {func(r *TrialRun) { r.Served.TargetP99 = 6 }, false, P99, Right},
		"max, one pause":                     {func(r *TrialRun) { r.Said.Figures[Max] = 25 }, false, Max, Right},
		"max beyond":                         {func(r *TrialRun) { r.Said.Figures[Max] = 40 }, false, Max, Wrong},
		"errors hidden":                      {func(r *TrialRun) { r.Served.Broken = 30 }, false, Errors, Silent},
		"errors hidden by two thirds":        {func(r *TrialRun) { r.Served.Broken, r.Said.Figures[Errors] = 30, 10 }, false, Errors, Silent},
		"errors hidden, and a warning":       {func(r *TrialRun) { r.Served.Broken, r.Said.Words = 30, []string{"reset"} }, false, Errors, Wrong},
		"errors short":                       {func(r *TrialRun) { r.Served.Broken, r.Said.Figures[Errors] = 30, 20 }, false, Errors, Wrong},
		"errors invented":                    {func(r *TrialRun) { r.Said.Figures[Errors] = 20 }, false, Errors, Wrong},
		"errors told":                        {func(r *TrialRun) { r.Served.Broken, r.Said.Figures[Errors] = 30, 30 }, false, Errors, Right},
		"errors told as retries":             {func(r *TrialRun) { r.Served.Broken, r.Said.Figures[Retried] = 30, 30 }, false, Errors, Right},
		"count":                              {func(r *TrialRun) { r.Served.Answered = 3050 }, false, Answered, Right},
		"count wrong":                        {func(r *TrialRun) { r.Served.Answered = 3051 }, false, Answered, Wrong},
		"rate":                               {func(r *TrialRun) { r.Said.Figures[Rate] = 658 }, false, Rate, Wrong},
		"rate of a run that ends late":       {func(r *TrialRun) { r.Said.Figures[Rate], r.Served.Whole = 355, 356 }, false, Rate, Right},
		"load held back":                     {func(r *TrialRun) { r.Served.Requests = 2500 }, false, Sent, Silent},
		"load short, on a busy machine":      {func(r *TrialRun) { r.Served.Requests, r.Served.TargetP99 = 2950, 20 }, false, Sent, Unclear},
		"load short, on a quiet machine":     {func(r *TrialRun) { r.Served.Requests = 2950 }, false, Sent, Silent},
		"load held back, dropped said":       {func(r *TrialRun) { r.Served.Requests, r.Said.Figures[Dropped] = 2500, 500 }, false, Sent, Admitted},
		"load held back, few said":           {func(r *TrialRun) { r.Served.Requests, r.Said.Figures[Dropped] = 2500, 100 }, false, Sent, Silent},
		"load held back, exit code":          {func(r *TrialRun) { r.Served.Requests, r.Failed = 2500, true }, true, Sent, Admitted},
		"more load":                          {func(r *TrialRun) { r.Served.Requests = 90000 }, false, Sent, Wrong},
		"late arrivals":                      {func(r *TrialRun) { r.Served.LateP99, r.Felt.P90 = 900, 501 }, false, Spacing, Wrong},
		"late arrivals, latencies with them": {func(r *TrialRun) { r.Served.LateP99, r.Felt.P99, r.Said.Figures[P99] = 900, 950, 960 }, false, Spacing, Admitted},
		"bursts, latencies without them":     {func(r *TrialRun) { r.Served.LateP99 = 98 }, false, Spacing, Wrong},
		"late arrivals, said":                {func(r *TrialRun) { r.Served.LateP99, r.Felt.P90, r.Said.Figures[Late] = 900, 501, 880 }, false, P90, Admitted},
		"late arrivals, a tenth said":        {func(r *TrialRun) { r.Served.LateP99, r.Felt.P90, r.Said.Figures[Late] = 900, 501, 90 }, false, P90, Wrong},
		"stopped, nothing said":              {func(r *TrialRun) { r.Served.LateP99 = 450 }, true, Words, Silent},
		"stopped, a warning":                 {func(r *TrialRun) { r.Served.LateP99, r.Said.Words = 450, []string{"late"} }, true, Words, Right},
		"stopped, an exit code":              {func(r *TrialRun) { r.Served.LateP99, r.Failed = 450, true }, true, Words, Right},
		"stopped, but nothing was late":      {func(*TrialRun) {}, true, Words, Right},
	} {
		r := steady()
		c.change(&r)
		trial := Trial{Connections: 50, Weak: c.weak, Runs: []TrialRun{r}}
		Judge(&trial)
		if cell := trial.Cell(c.figure); cell == nil || cell.State != c.want {
			t.Errorf("%s: %+v, want %s", name, cell, c.want)
		}
		if cell := trial.Cell(Words); (cell != nil) != c.weak {
			t.Errorf("%s: words %+v", name, cell)
		}
	}
}

// One bad run of three does not decide.
func TestMedians(t *testing.T) {
	bad := steady()
	bad.Said.Figures = map[string]float64{Answered: 10, Errors: 9, Rate: 1, P50: 900, P90: 900, P99: 900, Max: 900}
	trial := Trial{Connections: 50, Runs: []TrialRun{steady(), bad, steady()}}
	Judge(&trial)
	if len(trial.Cells) != len(Figures())-1 {
		t.Errorf("%d cells", len(trial.Cells))
	}
	for i, c := range trial.Cells {
		if c.State != Right || c.Figure != Figures()[i] {
			t.Errorf("%+v", c)
		}
	}
	answer := Answer{Generators: []Generator{{Trials: []Trial{trial}}}}
	if answer.Lies() != 0 || answer.Unclear() != 0 || answer.Generators[0].Count()[Right] != len(trial.Cells) {
		t.Errorf("%d lies, %d unclear", answer.Lies(), answer.Unclear())
	}
	trial.Cells = nil
	trial.Runs = []TrialRun{bad, bad, steady()}
	Judge(&trial)
	if answer.Generators[0].Trials[0] = trial; answer.Lies() < 6 {
		t.Errorf("%d lies of two bad runs of three", answer.Lies())
	}
}

// Runs on a busy machine do not count where others are quiet.
func TestQuietRunsCount(t *testing.T) {
	busy := steady()
	busy.Said.Figures = map[string]float64{P99: 300}
	busy.Served.TargetP99, busy.Served.TargetWorst = 50, 60
	trial := Trial{Connections: 50, Runs: []TrialRun{busy, busy, steady()}}
	if Judge(&trial); trial.Cell(P99).State != Right {
		t.Errorf("%+v", trial.Cell(P99))
	}
	trial.Runs, trial.Cells = []TrialRun{busy, busy}, nil
	if Judge(&trial); trial.Cell(P99).State == Right {
		t.Errorf("%+v", trial.Cell(P99))
	}
}

// A generator whose output cannot be read has printed nothing.
func TestUnread(t *testing.T) {
	r := steady()
	r.Said, r.Unread = Said{}, "the output is not whole"
	trial := Trial{Connections: 50, Runs: []TrialRun{r}}
	Judge(&trial)
	for _, c := range trial.Cells {
		if want := NotPrinted; c.Figure != Sent && c.Figure != Spacing && c.State != want {
			t.Errorf("%+v", c)
		}
	}
}

// Rounds become one table: runs of the same generator and load are judged together, those of another load are not.
func TestJoin(t *testing.T) {
	round := func(name string, connections int, change func(r *TrialRun)) Answer {
		r := steady()
		change(&r)
		one := Trial{Pathology: "freeze", Connections: connections, Runs: []TrialRun{r}}
		Judge(&one)
		return Answer{Repeats: 1, Generators: []Generator{{Name: name, Trials: []Trial{one}}}}
	}
	hidden := func(r *TrialRun) { r.Felt.P99 = 951 }
	a := round("hey", 50, func(*TrialRun) {})
	for _, b := range []Answer{
		round("hey", 50, hidden), round("hey", 50, hidden), // two of three
		round("hey", 5, func(*TrialRun) {}), round("wrk", 50, func(*TrialRun) {}),
		round("hey", 50, func(r *TrialRun) { r.Felt.Due = 6000 }), // a longer run
	} {
		a.Join(b)
	}
	if len(a.Generators) != 3 || a.Repeats != 3 {
		t.Fatalf("%d generators, %d repeats", len(a.Generators), a.Repeats)
	}
	hey := &a.Generators[0]
	if freeze := hey.Trial("freeze", 50); len(freeze.Runs) != 3 || len(freeze.Cells) != len(hey.Trial("freeze", 5).Cells) || freeze.Cell(P99).State != Wrong {
		t.Errorf("%d runs, %v", len(freeze.Runs), freeze.Cells)
	}
	if least, most := hey.Runs(); least != 1 || most != 3 {
		t.Errorf("%d to %d runs", least, most)
	}
}

// A trial that one round left out has the runs of the other round.
func TestJoinLeftOut(t *testing.T) {
	quota := func(runs ...TrialRun) Answer {
		one := Trial{Pathology: "quota", Connections: 50, Runs: runs}
		if runs == nil {
			one.LeftOut = "no control groups"
		} else {
			Judge(&one)
		}
		return Answer{Generators: []Generator{{Name: "hey", Trials: []Trial{one}}}}
	}
	for _, pair := range [][]Answer{{quota(), quota(steady())}, {quota(steady()), quota()}} {
		a := pair[0]
		a.Join(pair[1])
		if one := a.Generators[0].Trial("quota", 50); one.LeftOut != "" || len(one.Runs) != 1 || one.Cells == nil {
			t.Errorf("%q, %d runs", one.LeftOut, len(one.Runs))
		}
	}
}
