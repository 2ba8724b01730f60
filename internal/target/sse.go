package target

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/value"
)

// With --sse the target is a model of a model server: it answers requests of OpenAI's API in streams of
// server-sent events, one for each token. A stream occupies one of --servers from its start to its last token.
//
//	first token = start + service + prompt × --sse-prompt
//	next token  = the one before + --sse + (streams that have their first token − 1) × --sse-batch
//
// with the freezes in between. Real servers make the tokens of a batch in step; here each stream has its own
// instants, so that no token waits for the writes of others.

// Bounds of streams.
const (
	defaultTokens = 50
	maxTokens     = 100_000 // of an answer
	maxPrompt     = 4 << 20 // bytes of a request's body
	promptBytes   = 4       // bytes of text that are a token of the prompt
)

// sse are the settings of streams.
type sse struct {
	on        bool
	gap       dist.Time
	tokens    int
	prompt    time.Duration // for each token of the prompt
	batch     time.Duration // for each other stream
	stall     slowShare
	limit     int // streams at once, with those that wait; 0: any number
	rand      *rand.Rand
	stallRand *rand.Rand
}

func (o *Options) addStreamFlags(fs *pflag.FlagSet) {
	fs.Var(value.Text(&o.SSE), "sse", "answer as a model server with OpenAI's API does: streams of tokens, each `TIME` after the one before, such as 20ms or exp(20ms); --service is the time to the first")
	fs.IntVar(&o.SSETokens, "sse-tokens", defaultTokens, "`tokens` of an answer if the request has no max_tokens")
	fs.Var(value.Text(&o.SSEPrompt), "sse-prompt", "longer service by this `time` for each token of the prompt, which is 4 bytes of text")
	fs.Var(value.Text(&o.SSEBatch), "sse-batch", "longer time between tokens by this `time` for each other stream at that moment")
	fs.Var(value.Text(&o.SSEStall), "sse-stall", "a share of the streams stalls once for that time between two tokens: `SHARE/TIME` such as 2%/300ms")
	fs.IntVar(&o.SSELimit, "sse-limit", 0, "`streams` at once with those that wait for --servers, others get status 503; 0: any number")
}

// stream reads the options of streams, and notes their faults.
func (o Options) stream(note func(flag string, err error)) (s sse) {
	if s.on = o.SSE != ""; !s.on {
		o.strayStreamFlags(note)
		return s
	}
	var err error
	s.gap, err = dist.Parse(o.SSE)
	note("sse", err)
	s.tokens = o.SSETokens
	if s.tokens == 0 {
		s.tokens = defaultTokens
	}
	if s.tokens < 1 || s.tokens > maxTokens {
		note("sse-tokens", fmt.Errorf("%d tokens are not possible; write 1 to %d", s.tokens, maxTokens))
	}
	s.prompt, err = parseExtra(o.SSEPrompt)
	note("sse-prompt", err)
	s.batch, err = parseExtra(o.SSEBatch)
	note("sse-batch", err)
	s.stall, err = parseSlow(o.SSEStall)
	note("sse-stall", err)
	if s.limit = o.SSELimit; s.limit < 0 {
		note("sse-limit", fmt.Errorf("%d streams are not possible; write 1 or more, or 0 for any number", s.limit))
	}
	if o.Status != 0 && o.Status != defaultStatus {
		note("status", errors.New("streams have status 200; leave out --sse or --status"))
	}
	s.rand, s.stallRand = rand.New(rand.NewPCG(o.Seed, 4)), rand.New(rand.NewPCG(o.Seed, 5))
	return s
}

// strayStreamFlags notes what means nothing without --sse.
func (o Options) strayStreamFlags(note func(flag string, err error)) {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"sse-tokens", o.SSETokens != 0 && o.SSETokens != defaultTokens}, {"sse-prompt", o.SSEPrompt != ""},
		{"sse-batch", o.SSEBatch != ""}, {"sse-stall", o.SSEStall != ""}, {"sse-limit", o.SSELimit != 0},
	} {
		if f.given {
			note(f.name, errors.New("only streams have this; add --sse TIME"))
		}
	}
}

// parseExtra reads a time that something adds; "" is 0.
func parseExtra(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, ok := dist.ParseSpan(s)
	if !ok {
		return 0, fmt.Errorf("%q is not a time; write 50us or 1ms, at most 1h", s)
	}
	return d, nil
}
