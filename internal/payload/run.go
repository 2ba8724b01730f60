package payload

import "errors"

// longestRun is the most of a run's id that {{.Run}} appends: that of engine.NewID.
const longestRun = 26

// Run is the id of a run, which is known when it begins.
type Run struct{ id string }

// Begin sets the id. Call it before operations begin.
func (r *Run) Begin(id string) { r.id = id[:min(len(id), longestRun)] }

// runID is {{.Run}}.
type runID struct{ *Run }

func (r runID) append(dst []byte, _ uint64) []byte { return append(dst, r.id...) }

func (runID) longest() int { return longestRun }

func makeRunID(p *parser, args []token) (part, error) {
	switch {
	case len(args) > 0:
		return nil, errArguments
	case p.env.Run == nil:
		return nil, errors.New("there is no id of the run here; use it in the URL, -H or -d of takt http, or in a scenario")
	}
	return runID{p.env.Run}, nil
}
