package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/driver/llm/answer"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// mostBodies is how many bytes the prompts of all requests may have together.
const mostBodies = 1 << 30

// anthropicVersion is the version of Anthropic's API, which requests name.
const anthropicVersion = "2023-06-01"

// headers are those that the API wants.
func (o *Options) headers() []http1.Field {
	if o.api == answer.Anthropic && !o.conn.Header.Has("anthropic-version") {
		return []http1.Field{{Name: "anthropic-version", Value: anthropicVersion}}
	}
	return nil
}

// hasMessages reports whether requests have messages, and not a prompt.
func (o *Options) hasMessages() bool {
	return o.api != answer.Text && !strings.HasSuffix(strings.TrimRight(o.url.Path, "/"), "/generate")
}

// frame makes the bodies of requests.
type frame struct {
	members  []byte    // of all requests: an object without its end
	limit    [2]string // around the most tokens of an answer; empty: requests have none
	asks     [2]string // around what is asked; empty: members have it
	prefixes [][]byte  // what requests have in common, in turn; nil: nothing
	apart    bool      // prefixes are members, and not the beginning of what is asked
	scripts  []script  // in turn
	tokens   dist.Count
	seed     uint64
}

// makeFrame makes what the bodies of requests are made of. Members of --extra replace takt's.
func (o *Options) makeFrame() error {
	m := map[string]any{"stream": true}
	if o.Model != "" {
		m["model"] = o.Model
	}
	if o.api == answer.Chat || o.api == answer.Text {
		m["stream_options"] = map[string]bool{"include_usage": true}
	}
	for name, extra := range o.extra {
		m[name] = extra
	}
	members, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f := &frame{members: members[:len(members)-1], apart: o.api == answer.Anthropic, tokens: o.tokens, seed: o.seed}
	name, end := "max_tokens", ""
	f.limit[0] = `,"max_tokens":`
	if o.api == answer.Ollama {
		name, end = "options", "}"
		f.limit[0] = `,"options":{"num_predict":`
	}
	if f.limit[1] = end; o.tokens.Most() == 0 || o.extra[name] != nil {
		f.limit = [2]string{}
	}
	name, f.asks = "messages", [2]string{`,"messages":[`, `]`}
	if !o.hasMessages() {
		name, f.asks = "prompt", [2]string{`,"prompt":"`, `"`}
	}
	if o.extra[name] != nil {
		f.asks = [2]string{}
	}
	o.frame = f
	if err := o.makePrefixes(f); err != nil {
		return err
	}
	return o.makeScripts(f)
}

// makePrefixes makes the texts that requests have in common.
func (o *Options) makePrefixes(f *frame) error {
	if o.PrefixTokens == 0 {
		return nil
	}
	if own := map[bool]string{true: "system", false: "messages"}[f.apart]; o.extra[own] != nil {
		return value.Faultf("--extra has %s, and --prefix-tokens makes a system message; keep one", own)
	}
	w := newWriter(o.seed, 7)
	for i := range o.Prefixes {
		text := quoted(w.words(o.PrefixTokens))
		w.open(text, 1, o.PrefixTokens, uint64(i))
		switch {
		case f.apart:
			text = slices.Concat([]byte(`,"system":`), text)
		case o.hasMessages():
			text = slices.Concat([]byte(`{"role":"system","content":`), text, []byte(`},`))
		default:
			text = append(text[1:len(text)-1], ' ')
		}
		f.prefixes = append(f.prefixes, text)
	}
	return nil
}

// makeScripts reads or makes what persons say.
func (o *Options) makeScripts(f *frame) error {
	list, err := o.scripts()
	size := 0
	for i, s := range list {
		for _, t := range s.turns {
			size += len(t)
		}
		if size > mostBodies {
			return value.About(fmt.Errorf("the first %d prompts have more than 1 GiB; give fewer or shorter prompts", i+1), "prompts")
		}
	}
	f.scripts = list
	return err
}

// appendBody appends the body of the request with number n: the turns of s up to the one that follows the answers.
func (f *frame) appendBody(dst []byte, n uint64, s *script, answers [][]byte) []byte {
	dst = append(dst, f.members...)
	if f.limit[0] != "" {
		dst = append(dst, f.limit[0]...)
		dst = strconv.AppendInt(dst, f.most(n, len(answers)), 10)
		dst = append(dst, f.limit[1]...)
	}
	if f.asks[0] == "" {
		return append(dst, '}')
	}
	var prefix []byte
	if len(f.prefixes) > 0 {
		prefix = f.prefixes[n%uint64(len(f.prefixes))]
	}
	if f.apart {
		dst = append(dst, prefix...)
		prefix = nil
	}
	dst = append(dst, f.asks[0]...)
	dst = append(dst, prefix...)
	at := len(dst)
	dst = append(dst, s.turns[0]...)
	if s.open > 0 {
		writer{seed: f.seed}.open(dst[at:], s.open, s.words, n)
	}
	for i, a := range answers {
		if len(a) > 0 || !f.apart { // Anthropic refuses empty messages
			dst = append(dst, `,{"role":"assistant","content":"`...)
			dst = append(dst, a...)
			dst = append(dst, `"}`...)
		}
		dst = append(dst, ',')
		dst = append(dst, s.turns[i+1]...)
	}
	dst = append(dst, f.asks[1]...)
	return append(dst, '}')
}

// most is the most tokens of an answer: the same for each run with one seed.
func (f *frame) most(n uint64, turn int) int64 {
	if f.tokens.IsFixed() {
		return f.tokens.Most()
	}
	return f.tokens.Draw(rand.New(rand.NewPCG(f.seed^n, 8+uint64(turn))))
}

// requests makes the requests of a run.
type requests struct {
	*frame
	message http1.Request // without a body
	scheme  string
	head    []byte // over HTTP/1.1, up to the value of Content-Length
	closes  bool
}

// newRequests prepares the requests of a run.
func (o *Options) newRequests() (*requests, error) {
	const one = "1\r\n\r\n "
	m := o.conn.Message("POST", o.url, o.headers(), []byte(" "))
	r, err := m.Render()
	if err != nil {
		return nil, err
	}
	head, found := strings.CutSuffix(string(r.Bytes), one)
	if !found {
		return nil, errors.New("the request has no Content-Length at its end")
	}
	m.Body = nil
	return &requests{frame: o.frame, message: *m, scheme: o.url.Scheme, head: []byte(head), closes: r.Close}, nil
}

// script is that of operation or conversation n.
func (f *frame) script(n uint64) *script { return &f.scripts[n%uint64(len(f.scripts))] }

// body appends the body of op's request.
func (r *requests) body(dst []byte, op *takt.Op) []byte {
	if t, ok := op.Data.(*turn); ok {
		return r.appendBody(dst, t.talk.number, t.talk.script, t.talk.answers)
	}
	return r.appendBody(dst, op.Seq, r.script(op.Seq), nil)
}

// Append implements http1.Requests.
func (r *requests) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	dst = append(dst, r.head...)
	at := len(dst)
	dst = append(dst, "\r\n\r\n"...)
	from := len(dst)
	dst = r.body(dst, op)
	var digits [20]byte
	return slices.Insert(dst, at, strconv.AppendInt(digits[:0], int64(len(dst)-from), 10)...), false, r.closes
}

// Request implements http2.Requests.
func (r *requests) Request(q *http2.Request, op *takt.Op) {
	m := &r.message
	q.Start(m.Method, r.scheme, m.Host)
	q.Add(":path", m.Target, true)
	for _, f := range m.Header {
		q.Add(f.Name, f.Value, true)
	}
	q.MakeBody(func(dst []byte) []byte { return r.body(dst, op) })
	q.Last = r.closes
	q.AddLength(m.Method, false)
}
