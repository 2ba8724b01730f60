// Package llm is the driver of takt llm: load for servers of language models. One operation is one request, whose
// answer is a stream of tokens.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/driver/llm/answer"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/users"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Defaults of the flags.
const (
	defaultTimeout   = 2 * time.Minute
	defaultRun       = 10 * time.Second
	defaultUsers     = 1
	mostTokens       = 1_000_000 // of an answer
	defaultWords     = "100"
	defaultMaxTokens = "128"
	defaultTurns     = "1"
)

// Options are the flags of takt llm beyond those of every load command.
type Options struct {
	API       string // "": as the path of the URL says
	Model     string
	Prompts   string // file; "": prompts are made
	Words     string // of a prompt that is made, as dist.ParseCount has it
	MaxTokens string // of an answer, as dist.ParseCount has it; 0: as the server wants
	Extra     string // members of each request, as JSON
	SLOs      []string

	PrefixTokens int // words that many prompts begin with; 0: none
	Prefixes     int // number of such beginnings

	Turns string // of a conversation, as dist.ParseCount has it
	Think string // time between an answer and the next turn, as dist.Parse has it

	conn   http.Options // of connections and headers
	api    answer.API
	url    *url.URL
	slos   []slo
	frame  *frame
	words  dist.Count // of a prompt that is made
	turns  dist.Count // of a conversation
	tokens dist.Count // most of an answer; always 0: as the server wants
	empty  int        // conversations in the file without a prompt
	extra  map[string]json.RawMessage
	think  dist.Time
	seed   uint64
	warmup time.Duration
	talks  *talks // nil: requests are no conversations

	inFlight, users, given int    // conversations at once at most; users without a schedule; -c
	scheduled, loops       bool   // there is a schedule; --engine loop is given
	part, parts            uint64 // of the schedule that this process sends
}

// converses reports whether requests are turns of conversations.
func (o *Options) converses() bool { return o.Turns != defaultTurns }

// New are the options with their defaults.
func New() *Options {
	o := &Options{Words: defaultWords, MaxTokens: defaultMaxTokens, Prefixes: 1, Turns: defaultTurns, conn: *http.New()}
	o.conn.Stream, o.conn.Timeout, o.conn.ContentType = true, defaultTimeout, "application/json"
	return o
}

// AddFlags declares the flags on fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupTarget, o.addRequestFlags, "model", "prompts", "max-tokens", "bearer-file")
	value.Declare(fs, value.GroupAssertions, o.addSLOFlag, "slo")
	value.Declare(fs, value.GroupConnections, o.addWayFlags)
}

func (o *Options) addRequestFlags(fs *pflag.FlagSet) {
	fs.Var(value.Choice(&o.API, answer.Names()...), "api", "form of requests and answers, `"+strings.Join(answer.Names(), "|")+"` (default: by the path of the URL)")
	fs.Var(value.Text(&o.Model), "model", "`NAME` of the model in requests")
	fs.Var(value.InFile(&o.Prompts), "prompts", "prompts from `FILE` in turn: plain lines, lines of JSON with prompt or messages, or ShareGPT's JSON (default: words that takt makes)")
	fs.Var(value.Text(&o.Words), "prompt-tokens", "`N` words in each prompt that takt makes, about a token each; also 50..200, normal(100,30), exp(100) or lognormal(100,0.5)")
	fs.Var(value.Text(&o.MaxTokens), "max-tokens", "most tokens of an answer, `N`, or a distribution as of --prompt-tokens; 0: the server decides")
	fs.IntVar(&o.PrefixTokens, "prefix-tokens", 0, "all requests begin with the same `N` words, as a system message")
	fs.IntVar(&o.Prefixes, "prefixes", o.Prefixes, "`K` such beginnings, which requests have in turn")
	fs.Var(value.Text(&o.Turns), "turns", "conversations of up to `N` turns, or a distribution as of --prompt-tokens; a turn carries what was said before, with the server's answers; --rate counts conversations")
	fs.Var(value.Text(&o.Think), "think", "`TIME` between an answer and the next turn, such as 2s, 1s..5s, normal(3s,1s), exp(3s) or lognormal(3s,0.5)")
	fs.Var(value.Text(&o.Extra), "extra", "`JSON` object whose members each request gets, such as {\"ignore_eos\":true,\"temperature\":0}")
	c := &o.conn
	fs.VarP(&c.Header, "header", "H", "`NAME: VALUE` of a header; repeatable")
	fs.Var(value.Secret(&c.Credentials.Bearer), "bearer", "bearer authentication with `TOKEN`; better from TAKT_BEARER or --bearer-file")
	fs.Var(value.InFile(&c.Credentials.BearerFile), "bearer-file", "bearer authentication with the token in `FILE`")
}

func (o *Options) addSLOFlag(fs *pflag.FlagSet) {
	fs.Var(value.List(&o.SLOs), "slo", "goodput counts requests that meet `CONDITIONS` such as ttft<300ms,maxgap<1s,tpot<50ms; also ttfo and e2e; repeatable")
}

func (o *Options) addWayFlags(fs *pflag.FlagSet) {
	o.conn.AddWayFlags(fs)
	fs.Var(value.Size(&o.conn.StreamMost), "stream-max", "largest `SIZE` of an answer")
}

// Shape fills in what the user left open: a closed loop of one user, for 10 s.
func (o *Options) Shape(e *engine.Options) {
	o.seed, o.warmup = e.Seed, e.Warmup
	o.part, o.parts = e.Shard.Place()
	o.loops = e.Engine == "loop"
	if o.scheduled = !e.Closed(); o.converses() {
		o.users = users.Shape(e, &o.given, defaultUsers)
	}
	o.conn.ShapeWay(e, defaultUsers, o.converses())
	o.inFlight = e.InFlight()
	if e.Requests == 0 && e.Duration == 0 && !e.Stages.Given() {
		e.Duration = defaultRun
	}
}

// Validate reports every fault at once, and makes the requests.
func (o *Options) Validate(args []string) []error {
	var faults value.Faults
	faults.If(o.Words != defaultWords && o.Prompts != "", "both --prompt-tokens and --prompts are given; keep one")
	faults.If(o.conn.StreamMost < 1, "--stream-max must be above 0; a stream without a bound can go on for ever")
	faults = append(append(faults, o.checkPrefixes()...), o.checkTurns()...)
	faults.Add(o.readURL(args), o.readSLOs(), o.readExtra(), o.readLengths(), o.readTurns())
	if faults = append(faults, o.conn.Prepare(o.url)...); len(faults) > 0 {
		return faults
	}
	why := o.conn.Lacks(o.converses())
	faults.If(why != "", "takt llm has no %s; drop that", why)
	faults.If(o.converses() && !o.hasMessages(), "--turns needs an API with messages, and requests to %s have a text; end the url with /chat/completions", o.url.Path)
	faults.If(o.converses() && o.extra["messages"] != nil, "--extra has messages, and --turns makes them; keep one")
	if len(faults) == 0 {
		faults.Add(o.makeFrame())
	}
	if len(faults) == 0 && o.converses() {
		o.talks = o.newTalks()
	}
	return faults
}

// checkTurns refuses flags that mean nothing beside --turns, or without it.
func (o *Options) checkTurns() (faults value.Faults) {
	faults.If(o.Think != "" && !o.converses(), "--think is given without --turns; add that, or say with --rate when requests are due")
	faults.If(o.given > 0 && o.scheduled && o.converses(), "both -c and a rate are given with --turns; drop -c, each conversation has a connection of its own, and --max-in-flight limits them")
	faults.If(o.loops && o.converses(), "--engine loop is given with --turns; leave it out, each conversation has a goroutine of its own")
	faults.If(o.converses() && (o.conn.HTTP2Connections > 1 || o.conn.HTTP2Streams > 0), "--h2-connections or --h2-streams is given with --turns; leave it out, each conversation has a connection of its own, and one request at a time")
	return faults
}

// readTurns takes the length of conversations, and the time between their turns.
func (o *Options) readTurns() (err error) {
	if o.turns, err = dist.ParseCount(o.Turns, mostTurns); err != nil {
		return value.About(fmt.Errorf("--turns: %w", err), "turns")
	}
	if o.think, err = dist.Parse(o.Think); err != nil {
		return value.About(fmt.Errorf("--think: %w", err), "think")
	}
	return nil
}

// readLengths takes the lengths of prompts and answers.
func (o *Options) readLengths() (err error) {
	if o.words, err = dist.ParseCount(o.Words, mostWords); err != nil {
		return value.About(fmt.Errorf("--prompt-tokens: %w", err), "prompt-tokens")
	}
	if o.tokens = (dist.Count{}); o.MaxTokens == "0" {
		return nil
	}
	if o.tokens, err = dist.ParseCount(o.MaxTokens, mostTokens); err != nil {
		return value.About(fmt.Errorf("--max-tokens: %w; 0 lets the server decide", err), "max-tokens")
	}
	return nil
}

// readURL takes the server and its API.
func (o *Options) readURL(args []string) (err error) {
	if len(args) != 1 {
		return errors.New("give one url; it names the server, such as http://127.0.0.1:8000/v1/chat/completions")
	}
	if o.url, err = httpreq.ParseURL(args[0]); err != nil {
		return err
	}
	if path := strings.TrimRight(o.url.Path, "/"); (path == "" || path == "/v1") && o.API == "" {
		o.url.Path = "/v1/chat/completions"
	}
	if o.API != "" {
		o.api, err = answer.Parse(o.API)
		return err
	}
	if o.api = answer.OfPath(o.url.Path); o.api == 0 {
		return value.Faultf("the path %s names no API; end the url with /v1/chat/completions, or add --api", o.url.Path)
	}
	return nil
}

// readExtra takes the members that each request gets.
func (o *Options) readExtra() error {
	o.extra = nil
	if o.Extra == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(o.Extra), &o.extra); err != nil || o.extra == nil {
		return value.Faultf("--extra %q is not a JSON object; write {\"temperature\":0}", o.Extra)
	}
	return nil
}

// Secrets implements takt.Secretive.
func (o *Options) Secrets() []string { return append(o.conn.Secrets(), httpreq.SecretsIn(o.url)...) }

// Variables are the settings that shape the load or the target.
func (o *Options) Variables() map[string]any {
	v := map[string]any{
		"api": o.api.String(), "scheme": o.url.Scheme, "host": o.url.Host, "path": o.url.EscapedPath(), "prompts": len(o.frame.scripts),
		"headers": o.conn.Header.FieldNames(),
	}
	o.conn.DescribeWay(v)
	for name, text := range map[string]string{"model": o.Model, "extra": o.Extra, "slo": o.Goal()} {
		if text != "" {
			v[name] = text
		}
	}
	if o.Prompts == "" {
		v["prompt_tokens"], v["seed"] = length(o.words, o.Words), o.seed
	}
	if o.tokens.Most() > 0 {
		v["max_tokens"] = length(o.tokens, o.MaxTokens)
	}
	if o.PrefixTokens > 0 {
		v["prefix_tokens"], v["prefixes"], v["seed"] = o.PrefixTokens, o.Prefixes, o.seed
	}
	if o.empty > 0 {
		v["prompts_empty"] = o.empty
	}
	if o.converses() {
		v["turns"], v["seed"] = length(o.turns, o.Turns), o.seed
		if o.Think != "" {
			v["think"] = o.Think
		}
		if o.users > 0 {
			v["users"] = o.users
		}
	}
	return v
}

// length is a length as a variable: a number if there is one.
func length(c dist.Count, text string) any {
	if c.IsFixed() {
		return c.Most()
	}
	return text
}

// Timed is driver.Load.Timed: engine.PartTimes by the names of the field, and those of this package.
func (o *Options) Timed() []takt.Timed {
	list := engine.PartTimes("ttft", "ttft_sent", "ttft_unknown", takt.Timed{Name: "tpot", Row: true, Course: true}, takt.Timed{Name: "ttfo", Row: true, Course: true})
	if o.converses() {
		list = append(list, takt.Timed{Name: "ttft_first", Course: true}, takt.Timed{Name: "ttft_later", Course: true})
	}
	return list
}

// The places of this package in takt.Result.Timed.
const (
	rowTPOT = engine.RowOwn + iota
	rowTTFO
)

// The phases of this package.
const (
	phaseTPOT = engine.PhaseGapUnknown + 1 + iota
	phaseTTFO
	phaseTTFTFirst
	_ // ttft_later, see turn.phase
)

// Open makes the driver.
func (o *Options) Open(context.Context, int) (*takt.Driver, error) {
	if o.converses() {
		return o.talks.open()
	}
	p, err := o.newPlan()
	if err != nil {
		return nil, err
	}
	d, err := o.conn.OpenTo(func() *takt.Loop { return o.loopOf(p) })
	if err == nil {
		d.Timed, d.Goal, d.Finish = o.Timed(), o.Goal(), p.finishing(d.Finish, nil)
	}
	return d, err
}

// newPlan prepares what a run sends and counts.
func (o *Options) newPlan() (*plan, error) {
	r, err := o.newRequests()
	return &plan{requests: r, o: o, missed: make([]atomic.Uint64, len(o.slos))}, err
}

// loopOf describes the connections of a run.
func (o *Options) loopOf(p *plan) *takt.Loop {
	l := o.conn.LoopTo(o.url, func(int) takt.Codec { return newCodec(p) })
	if o.conn.HTTP2 {
		o.conn.MultiplexTo(l, func() takt.Mux { return newMux(p) })
	}
	return l
}

// Source is driver.Load.Source.
func (o *Options) Source(_ context.Context, base takt.Source) (takt.Source, error) {
	if !o.converses() {
		return base, nil
	}
	return o.talks.source(base), nil
}

// Later is driver.Load.Later: conversations go on after the schedule.
func (o *Options) Later() time.Duration {
	if !o.converses() || !o.scheduled {
		return 0
	}
	return journey.Longest(o.talks.rules)
}

// Reacts is driver.Load.Reacts: how many turns there are depends on answers.
func (o *Options) Reacts() bool { return o.converses() }

// Steps is driver.Load.Steps.
func (o *Options) Steps() []string {
	if o.converses() {
		return rowNames()
	}
	return nil
}
