// Package llm is the driver of takt llm: load for servers of language models. One operation is one request, whose
// answer is a stream of tokens.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/driver/llm/answer"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Defaults of the flags.
const (
	defaultTimeout   = 2 * time.Minute
	defaultRun       = 10 * time.Second
	defaultUsers     = 1
	defaultWords     = 100
	defaultMaxTokens = 128
)

// Options are the flags of takt llm beyond those of every load command.
type Options struct {
	API       string // "": as the path of the URL says
	Model     string
	Prompts   string // file; "": prompts are made
	Words     int    // of a prompt that is made
	MaxTokens int    // of an answer; 0: as the server wants
	Extra     string // members of each request, as JSON
	SLOs      []string

	conn   http.Options // of connections and headers
	api    answer.API
	url    *url.URL
	slos   []slo
	bodies [][]byte
	extra  map[string]json.RawMessage
	seed   uint64
	warmup time.Duration
	loops  bool // the engine may use its loop
}

// New are the options with their defaults.
func New() *Options {
	o := &Options{Words: defaultWords, MaxTokens: defaultMaxTokens, conn: *http.New()}
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
	fs.IntVar(&o.Words, "prompt-tokens", o.Words, "`N` words in each prompt that takt makes, about a token each")
	fs.IntVar(&o.MaxTokens, "max-tokens", o.MaxTokens, "most tokens of an answer, `N`; 0: the server decides")
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
	c := &o.conn
	fs.VarP(value.Duration(&c.Timeout), "timeout", "t", "time limit for a request, `TIME`; a bare number means seconds")
	fs.Var(value.Duration(&c.ConnectTimeout), "connect-timeout", "time limit for connecting, with the TLS handshake, `TIME`")
	fs.Var(value.Size(&c.StreamMost), "stream-max", "largest `SIZE` of an answer")
	fs.BoolVar(&c.DisableKeepAlive, "disable-keepalive", false, "a new connection for every request")
	fs.BoolVar(&c.Insecure, "insecure", false, "do not verify the server's certificate")
	fs.Var(value.InFile(&c.CACert), "cacert", "verify the server's certificate with the authorities in this PEM `FILE`")
	fs.Var(value.InFile(&c.Cert), "cert", "client certificate, PEM `FILE`")
	fs.Var(value.InFile(&c.Key), "key", "key of the client certificate, PEM `FILE` (default: the file of --cert)")
}

// Shape fills in what the user left open: a closed loop of one user, for 10 s.
func (o *Options) Shape(e *engine.Options) {
	o.seed, o.warmup, o.loops = e.Seed, e.Warmup, e.CanLoop()
	if e.Closed() && e.Connections == 0 {
		e.Connections = defaultUsers
	}
	if e.Requests == 0 && e.Duration == 0 && !e.Stages.Given() {
		e.Duration = defaultRun
	}
	e.Drain.SetFallback(o.conn.Timeout)
}

// Validate reports every fault at once, and makes the requests.
func (o *Options) Validate(args []string) []error {
	var faults value.Faults
	faults.If(!o.loops, "--engine worker is given, or this is not Linux; takt llm times tokens only in the loop mode on Linux, drop the flag")
	faults.If(o.Words < 1 || o.Words > mostWords, "--prompt-tokens is %d; give 1 to %d", o.Words, mostWords)
	faults.If(o.Words != defaultWords && o.Prompts != "", "both --prompt-tokens and --prompts are given; keep one")
	faults.If(o.MaxTokens < 0, "--max-tokens is %d; give a number above 0, or 0 and the server decides", o.MaxTokens)
	faults.If(o.conn.StreamMost < 1, "--stream-max must be above 0; a stream without a bound can go on for ever")
	faults.Add(o.readURL(args), o.readSLOs(), o.readExtra())
	if faults = append(faults, o.conn.Prepare()...); len(faults) == 0 {
		faults.Add(o.makeBodies())
	}
	return faults
}

// readURL takes the server and its API.
func (o *Options) readURL(args []string) (err error) {
	if len(args) != 1 {
		return errors.New("give one url; it names the server, such as http://127.0.0.1:8000/v1/chat/completions")
	}
	if o.url, err = http.ParseURL(args[0]); err != nil {
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
func (o *Options) Secrets() []string { return append(o.conn.Secrets(), http.SecretsIn(o.url)...) }

// Variables are the settings that shape the load or the target.
func (o *Options) Variables() map[string]any {
	v := map[string]any{
		"api": o.api.String(), "scheme": o.url.Scheme, "host": o.url.Host, "path": o.url.EscapedPath(), "prompts": len(o.bodies),
		"keepalive": !o.conn.DisableKeepAlive, "timeout_s": o.conn.Timeout.Seconds(), "headers": o.conn.Header.FieldNames(),
	}
	for name, text := range map[string]string{"model": o.Model, "extra": o.Extra, "slo": o.Goal()} {
		if text != "" {
			v[name] = text
		}
	}
	if o.Prompts == "" {
		v["prompt_tokens"], v["seed"] = o.Words, o.seed
	}
	if o.MaxTokens > 0 {
		v["max_tokens"] = o.MaxTokens
	}
	if o.conn.Insecure {
		v["insecure"] = true
	}
	return v
}

// Timed is driver.Load.Timed: engine.PartTimes by the names of the field, and those of this package.
func Timed() []takt.Timed {
	return engine.PartTimes("ttft", "ttft_sent", "ttft_unknown", takt.Timed{Name: "tpot", Row: true, Course: true}, takt.Timed{Name: "ttfo", Row: true, Course: true})
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
)

// Open makes the driver.
func (o *Options) Open(context.Context, int) (*takt.Driver, error) {
	p := &plan{o: o, missed: make([]atomic.Uint64, len(o.slos))} // of conditions
	for _, body := range o.bodies {
		r, err := o.conn.Render("POST", o.url, o.headers(), body)
		if err != nil {
			return nil, err
		}
		p.requests = append(p.requests, r)
	}
	return &takt.Driver{
		Loop:  o.conn.LoopTo(o.url, func(int) takt.Codec { return newCodec(p) }),
		Timed: Timed(), Goal: o.Goal(), Finish: p.finish,
	}, nil
}
