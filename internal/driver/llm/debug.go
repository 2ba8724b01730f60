package llm

import (
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/driver/llm/answer"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/exchange"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/parts"
	"github.com/taktload/takt/pkg/takt"
)

// Watch is driver.Debug.Watch: tokens cost, so it sends one request, or the first conversation.
func (o *Options) Watch(seen func(*exchange.Exchange)) (tap engine.Tap, most uint64, err error) {
	if most = 1; o.converses() {
		most = uint64(len(o.frame.script(0).turns))
	}
	return exchange.NewTap(func(x *exchange.Exchange) {
		o.explain(x)
		seen(x)
	}), most, nil
}

// explain takes a stream apart, and says what takt counts of it.
func (o *Options) explain(x *exchange.Exchange) {
	var s answer.Stream
	s.Reset(o.api)
	var said answer.Channel
	kind := parts.KindOf(x.Answer.Field("Content-Type"))
	if !x.Answer.EachPart(kind, func(p parts.Part, at time.Duration) {
		said |= s.Read(p).Output
		x.Answer.AddPart(p, at)
	}) {
		return
	}
	add := func(what, format string, args ...any) {
		x.Facts = append(x.Facts, exchange.Fact{What: what, Text: fmt.Sprintf(format, args...)})
	}
	n, usage := s.Tokens()
	from := "by usage"
	if !usage {
		from = "counted by parts with output, the server sent no usage"
	}
	tokens := fmt.Sprintf("%d out (%s)", n, from)
	if s.Input() > 0 {
		tokens += fmt.Sprintf(", %d in, %d cached", s.Input(), s.Cached())
	}
	add("tokens", "%s", tokens)
	add("output", "%s", channels(said))
	if reason := s.Reason(); reason != "" {
		add("finish", "%s", reason)
	}
	if list := o.timesOf(x.Result.Timed); list != "" {
		add("counted", "%s", list)
	}
	if g := map[takt.Goal]string{takt.GoalMet: "met", takt.GoalMissed: "missed", takt.GoalUnknown: "not known"}[x.Result.Goal]; g != "" {
		add("slo", "%s: %s", o.Goal(), g)
	}
}

// timesOf are the times of a row, for people.
func (o *Options) timesOf(row [takt.MaxTimed]time.Duration) string {
	var list []string
	i := 0
	for _, t := range o.Timed() {
		if !t.Row {
			continue
		}
		if row[i] > 0 {
			list = append(list, t.Name+" "+figure.Duration(row[i]))
		}
		i++
	}
	return strings.Join(list, ", ")
}

// channels names what tokens were for.
func channels(c answer.Channel) string {
	var list []string
	for _, one := range []struct {
		of   answer.Channel
		name string
	}{{answer.Content, "content"}, {answer.Reasoning, "reasoning"}, {answer.Tool, "calls of tools"}} {
		if c&one.of != 0 {
			list = append(list, one.name)
		}
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}
