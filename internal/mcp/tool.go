package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/pkg/takt"
)

// tool is one tool of the agent.
type tool struct {
	name, title, about string
	load               bool // it sends load
	judges             bool // its answers have a verdict and claims
	fields             []field
	check              func(v values) []error            // what one field alone does not say
	line               func(v values) []string           // the command line, which writes JSON to standard output
	answer             func(out []byte) (*result, error) // reads the JSON
}

// describe is the tool as tools/list has it.
func (t *tool) describe(o *Options) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.fields {
		properties[t.fields[i].name] = t.fields[i].schema()
		if t.fields[i].must {
			required = append(required, t.fields[i].name)
		}
	}
	about := t.about
	if t.load {
		about += fmt.Sprintf(" Limits of the user: targets %s; %v operations/s; %v; %d in flight.", strings.Join(o.machines(), ", "), o.Rate, o.Time, o.Connections)
	}
	all := map[string]any{
		"name": t.name, "title": t.title, "description": about,
		"inputSchema": map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false},
		"annotations": map[string]any{"readOnlyHint": !t.load, "destructiveHint": t.load, "openWorldHint": t.load},
	}
	if t.judges {
		all["outputSchema"] = judged()
	}
	return all
}

// judged is what every answer has that judges.
func judged() map[string]any {
	return map[string]any{"type": "object", "required": []string{"verdict", "claims"}, "properties": map[string]any{
		"verdict": map[string]any{"type": "string", "description": "read this first: what is invalid says nothing about a server"},
		"claims":  map[string]any{"type": "array", "description": "what may be concluded; a claim with supported false is unknown", "items": map[string]any{"type": "object"}},
	}}
}

// read reads the arguments of a call, and returns every fault.
func (t *tool) read(raw json.RawMessage) (values, []error) {
	v, faults := readAll(raw, t.fields)
	if len(faults) == 0 && t.check != nil {
		faults = t.check(v)
	}
	return v, faults
}

// flags are the words of all fields with a flag.
func (t *tool) flags(v values) []string { return flagsOf(t.fields, v) }

// result is the answer to a call.
type result struct {
	words      []string       // sentences, the most important first
	structured map[string]any // nil: only words
	refused    bool           // the call did not do what was asked
}

// Error implements error.
func (r *result) Error() string { return strings.Join(r.words, "\n") }

// refusal is the result of a call that takt does not perform.
func refusal(err error) *result { return &result{words: []string{err.Error()}, refused: true} }

// fields is the result as the protocol has it. Some clients show the model only texts, so the figures are also
// one.
func (r *result) fields() map[string]any {
	content := []map[string]any{{"type": "text", "text": shorten(strings.Join(r.words, "\n"), maxWords)}}
	all := map[string]any{"isError": r.refused}
	if r.structured != nil {
		text := plainJSON(r.structured)
		content = append(content, map[string]any{"type": "text", "text": string(text)})
		all["structuredContent"] = json.RawMessage(text)
	}
	all["content"] = content
	return all
}

// Limits of an answer, in bytes: an agent pays for what it reads.
const (
	maxWords  = 12 << 10
	maxReport = 64 << 20 // of what a command writes
	maxLines  = 12       // of what a command without a result said last
)

// grace is the time that a command has beyond --max-duration, for its beginning, its drain and its report; then takt
// stops it.
const grace = 45 * time.Second

// abortAfter is the time between the signal to stop and the end by force.
const abortAfter = 30 * time.Second

// perform runs a call when it is its turn.
func (s *Server) perform(ctx context.Context, abort <-chan struct{}, t *tool, v values, about meta) *result {
	line := t.line(v)
	plan, err := s.host.Plan(line, shell.Rules{Allow: s.targets.Has})
	if err != nil {
		return refusal(s.explain(err))
	}
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // select may choose the turn all the same
		return refusal(fmt.Errorf("nothing was run: %w", context.Cause(ctx)))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Time+grace, fmt.Errorf("it took longer than the limit; %s", whose("--max-duration")))
	defer cancel()
	defer s.progress(about, t)()
	return s.run(ctx, abort, t, shell.Call{Args: line, Configs: plan.Configs})
}

// explain adds to a refusal of a target who can change it.
func (s *Server) explain(err error) error {
	if denied := shell.Denied(""); errors.As(err, &denied) {
		return fmt.Errorf("%w; %s", err, whose("--allow-target and --folder"))
	}
	return err
}

// run runs a command line, and reads its answer.
func (s *Server) run(ctx context.Context, abort <-chan struct{}, t *tool, c shell.Call) *result {
	out, notes, board := &bounded{most: maxReport}, process.NewLog(), &live.Board{}
	var seen happened
	board.OnRun(seen.run)
	board.OnRefused(seen.refuse)
	c.Dir, c.Plain, c.Reaches, c.Report, c.Out, c.Live = s.options.Folder, true, s.options.machines(), out, notes, board
	if s.options.Store != "" {
		c.Env = []string{"TAKT_STORE=" + s.options.Store}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	context.AfterFunc(ctx, func() {
		select {
		case <-time.After(abortAfter):
		case <-abort:
		case <-ended:
			return
		}
		close(stop)
	})
	code := s.host.Run(ctx, stop, c)
	found, err := t.answer(out.Bytes())
	if err != nil || out.full {
		found = refusal(fmt.Errorf("takt %s has no result, exit code %d (%s)", c.Args[0], code, meaning(code)))
		if found.words = append(found.words, lastLines(notes)...); code == core.ExitOK {
			found.words = append(found.words, fmt.Sprintf("its answer cannot be read: %v", err)) // or is too long
		}
	}
	if found.structured != nil {
		if found.structured["verdict"] == string(takt.Invalid) && code == core.ExitAssertion {
			code = core.ExitInvalid // late alone, a run can fail an assertion, and prove nothing
		}
		found.structured["exit_code"], found.structured["exit_code_means"] = code, meaning(code)
	}
	if cause := context.Cause(ctx); cause != nil {
		found.words = append([]string{fmt.Sprintf("STOPPED EARLY: %v. What follows is of the part that was sent.", cause)}, found.words...)
	}
	found.words = append(found.words, seen.words(found.structured == nil && c.Args[0] == "http")...)
	return found
}

// lastLines are what a command said last.
func lastLines(log *process.Log) (list []string) {
	for _, l := range log.Tail(maxLines, "") {
		list = append(list, foreign.Text(l.Text))
	}
	return list
}

// meaning is an exit code in words.
func meaning(code int) string {
	switch code {
	case core.ExitOK:
		return "done"
	case core.ExitFailed:
		return "the command could not be performed, ended early, or no operation succeeded"
	case core.ExitUsage:
		return "an argument is wrong"
	case core.ExitAssertion:
		return "an assertion failed, or no rate met the objective"
	case core.ExitRegression:
		return "head is worse"
	case core.ExitInconclusive:
		return "not known"
	case core.ExitInvalid:
		return "the run is invalid, so it says nothing about the server"
	}
	return "it was stopped"
}

// happened is what a command told while it went on.
type happened struct {
	mu      sync.Mutex
	runs    []string
	refused []string
}

func (h *happened) run(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = append(h.runs, id)
}

func (h *happened) refuse(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = append(h.refused, why)
}

// words say what was refused, and, of a run without a result, its id.
func (h *happened) words(lost bool) (words []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, why := range h.refused {
		words = append(words, "Refused: "+foreign.Text(why)+"; "+whose("--allow-target and --folder"))
	}
	if lost && len(h.runs) > 0 {
		words = append(words, "The run is "+h.runs[len(h.runs)-1]+"; show shows it, if it was stored.")
	}
	return words
}

// progressEvery is the time between two messages to a client that asks for progress. Clients wait longer for a call
// that progresses.
const progressEvery = 2 * time.Second

// progress tells the client of a call that it goes on, until the end.
func (s *Server) progress(about meta, t *tool) (end func()) {
	if !validID(about.Progress) {
		return func() {}
	}
	began, done, over := time.Now(), make(chan struct{}), make(chan struct{})
	tick := time.NewTicker(progressEvery)
	go func() {
		defer close(over)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.out.write(notification{"2.0", "notifications/progress", map[string]any{
					"progressToken": about.Progress, "progress": time.Since(began).Seconds(), "message": t.name + " goes on",
				}})
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-over }
}
