package llm

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/internal/users"
	"github.com/taktload/takt/pkg/takt"
)

// Bounds of what conversations carry. Answers beyond are cut, and counted.
const (
	mostAnswers = 1 << 20   // bytes of all answers of a conversation
	roomAnswers = 512 << 20 // of all conversations under way
)

// rowNames are the rows of the report: turns of which the server knows nothing yet, and others.
func rowNames() []string { return []string{"first turn", "later turns"} }

// talks are the conversations of a run. A conversation is a journey whose steps are its turns.
type talks struct {
	o       *Options
	rules   []journey.Step // of as many turns as a conversation has at most
	courses *users.Courses
	begun   time.Time

	mu      sync.Mutex
	figures []steps.Figures
	rounds  steps.RoundCounts
	held    int    // bytes of answers of conversations under way
	cut     uint64 // answers that are not carried as a whole
}

// talk is one conversation.
type talk struct {
	of      *talks
	number  uint64
	key     []byte
	script  *script
	user    journey.User
	answers [][]byte // each as the inside of a JSON string
	answer  []byte   // of the turn under way
	held    int      // bytes of answers
	cut     bool     // the answer is longer
	sent    time.Time
	counted bool // its first turn was due after the warm-up
}

// turn is the Data of an operation.
type turn struct {
	talk   *talk
	place  journey.Place
	last   bool
	counts func() // adds the operation to the figures, whose lock is held, once it is in the report
}

func (t *turn) row() int { return min(t.place.Step, 1) }

// phase is the latency of the turn's first token.
func (t *turn) phase() int { return phaseTTFTFirst + t.row() }

// StepNumber implements engine.Stepped.
func (t *turn) StepNumber() int32 { return int32(t.row()) + 1 }

// IsFirst implements engine.Stepped.
func (t *turn) IsFirst() bool { return t.place.Step == 0 }

// Counts implements engine.Stepped.
func (t *turn) Counts() {
	if t.counts != nil {
		t.talk.of.mu.Lock()
		defer t.talk.of.mu.Unlock()
		t.counts()
	}
}

// Overflow implements engine.Stepped: the conversation does not begin.
func (t *turn) Overflow(due time.Duration) {
	s := t.talk.of
	s.courses.Over(nil, 0, 0)
	if due >= s.o.warmup {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.figures[0].Skipped++
		s.rounds.Dropped++
	}
}

// hear takes a piece of the answer under way.
func (t *talk) hear(text []byte) {
	s := t.of
	s.mu.Lock()
	fits := !t.cut && t.held+len(text) <= mostAnswers && s.held+len(text) <= roomAnswers
	if fits {
		s.held += len(text)
	}
	s.mu.Unlock()
	if !fits {
		t.cut = true
		return
	}
	t.held += len(text)
	t.answer = append(t.answer, text...)
}

// newTalks are the conversations of all runs.
func (o *Options) newTalks() *talks {
	s, most := &talks{o: o}, 0
	for i := range o.frame.scripts {
		most = max(most, len(o.frame.scripts[i].turns))
	}
	for range most {
		s.rules = append(s.rules, journey.Step{Think: o.think})
	}
	return s
}

// source makes operations of the conversations of a run.
func (s *talks) source(base takt.Source) takt.Source {
	s.figures, s.rounds, s.held, s.cut = nil, steps.RoundCounts{}, 0, 0
	for _, name := range rowNames() {
		s.figures = append(s.figures, steps.New(name))
	}
	s.courses = users.NewCourses(base, users.Numbers{Part: s.o.part, Parts: s.o.parts}, s.o.users, s.o.Later(), func(number uint64, _ any) (any, time.Duration) {
		t := &talk{of: s, number: number, key: strconv.AppendUint(nil, number, 10), script: s.o.frame.script(number)}
		t.user = journey.User{Rand: rand.New(rand.NewPCG(s.o.seed^number, 10))}
		return &turn{talk: t}, 0
	})
	return s.courses
}

// begin is users.Options.Begin.
func (s *talks) begin(op *takt.Op) { op.Data.(*turn).talk.sent = time.Now() }

// end is users.Options.End: the turn of op has ended at this instant.
func (s *talks) end(op *takt.Op, r *takt.Result, at time.Time) {
	t := op.Data.(*turn)
	talk, failed := t.talk, r.Class != ""
	response, service := at.Sub(s.begun)-op.Due, at.Sub(talk.sent)
	next := journey.After(s.rules[:len(talk.script.turns)], t.place, journey.Result{Class: r.Class, Status: r.Status}, talk.user)
	t.last = next.Over
	cut := talk.cut && !failed
	if talk.cut = false; !failed {
		talk.answers = append(talk.answers, bytes.ToValidUTF8(talk.answer, []byte("\ufffd")))
	}
	first := t.place.Step == 0
	if first {
		talk.counted = op.Due >= s.o.warmup
	}
	if op.Due >= s.o.warmup {
		row, counted := t.row(), talk.counted
		t.counts = func() {
			s.figures[row].Count(failed, response, service)
			if cut {
				s.cut++
			}
			if first {
				s.rounds.Begun++
			}
			switch {
			case !counted:
			case next.Failed:
				s.rounds.Failed++
			case next.Over:
				s.rounds.Completed++
			}
		}
	}
	since := at.Sub(s.begun)
	if !next.Over {
		s.courses.Follow(&turn{talk: talk, place: next.Place}, since+next.Wait)
		return
	}
	s.mu.Lock()
	s.held -= talk.held
	s.mu.Unlock()
	pause := s.o.think.Draw(talk.user.Rand)
	if failed && r.Status == 0 && r.BytesReceived == 0 {
		pause = max(pause, users.FailPause)
	}
	s.courses.Over(nil, since, pause)
}

// open opens the driver of a run.
func (s *talks) open() (*takt.Driver, error) {
	o := s.o
	p, err := o.newPlan()
	if err != nil {
		return nil, err
	}
	d, _, err := o.conn.UsersTo(o.url, users.Options{
		Seats:  o.inFlight + o.users, // a conversation may begin before the connection of the last one is closed
		Key:    func(op *takt.Op) []byte { return op.Data.(*turn).talk.key },
		Begin:  func(_ *users.User, op *takt.Op, _ *takt.Result) bool { s.begin(op); return true },
		End:    func(_ *users.User, op *takt.Op, r *takt.Result, at time.Time) { s.end(op, r, at) },
		Leaves: func(op *takt.Op) bool { return op.Data.(*turn).last },
	}, func() *takt.Loop { return o.loopOf(p) })
	if err != nil {
		return nil, err
	}
	d.Phases, d.Timed, d.Goal = engine.NetPhases, o.Timed(), o.Goal()
	open, finish := d.Async, d.Finish
	d.Async = func(i int, sink takt.Sink) (*takt.AsyncClient, error) {
		c, err := open(i, sink)
		started := c.Started
		c.Started = func(at time.Time) {
			s.begun = at
			s.courses.Begin(sink.Wake)
			started(at)
		}
		return c, err
	}
	d.Finish = p.finishing(finish, s.finish)
	return d, nil
}

// finish adds the figures of turns and conversations.
func (s *talks) finish(r *takt.Report, f *tokens.Figures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Extra[steps.Key] = steps.Rows(s.figures)
	r.Extra[steps.Rounds] = s.rounds.Of(r)
	s.courses.NoteCut(r, "raise --drain")
	f.Cut = s.cut
}
