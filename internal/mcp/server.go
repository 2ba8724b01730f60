// Package mcp is takt for agents: the Model Context Protocol over standard input and output. An agent calls tools
// whose arguments have types; each becomes a command line of takt from a list of flags, which runs in a process of
// its own, confined to a folder and to the machines that the user allows, as the jobs of takt server are.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/shell"
)

// The revisions of the protocol that takt speaks, the newest first. From modern on, each request names its
// revision; before, the client and the server agree on one at the beginning.
const (
	modern = "2026-07-28"
	newest = "2025-11-25" // of those with a beginning
)

func revisions() []string { return []string{modern, newest, "2025-06-18", batched, "2024-11-05"} }

// batched is the one revision with batches.
const batched = "2025-03-26"

// The fields of params._meta.
const (
	metaRevision = "io.modelcontextprotocol/protocolVersion"
	metaServer   = "io.modelcontextprotocol/serverInfo"
)

// instructions tell an agent how to use the server.
const instructions = `takt sends load on a schedule and measures what users feel. Say of a server only what "claims" support; ` +
	`what a claim calls unknown is unknown. If the verdict of a run is invalid, the run says nothing about the server: run it again, longer or at a lower rate. ` +
	`To compare two servers use verify, not two runs. One call runs at a time; the others wait. The limits are the user's: do not work around them, ask.`

// Server serves one client.
type Server struct {
	options Options
	targets reach.Targets
	host    shell.Host
	out     output
	tools   []*tool
	turn    chan struct{} // has a value while nothing runs

	mu       sync.Mutex
	calls    map[string]*call // that run or wait, by the text of their ids
	revision string           // that was agreed on
	closing  error            // set when the client has closed its end
	work     sync.WaitGroup
}

// call is a tool call that runs or waits.
type call struct {
	load   bool
	cancel context.CancelCauseFunc
}

// Causes with which a call is ended.
var (
	errCancelled = errors.New("the call was cancelled")
	errClosed    = errors.New("the client closed its end")
)

// maxCalls limits the calls that run or wait.
const maxCalls = 16

// New returns a server. The host confines command lines, and runs them.
func New(o Options, host shell.Host) (*Server, error) {
	targets, err := reach.Parse(o.machines())
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, targets: targets, host: host, calls: map[string]*call{}, turn: make(chan struct{}, 1), revision: newest}
	s.tools = toolsOf(&s.options)
	s.turn <- struct{}{}
	return s, nil
}

// Serve answers the messages of in until its end. Then it stops what sends load, waits for the rest, and
// returns. The end of ctx stops all calls, but a read of in may outlast it.
func (s *Server) Serve(ctx context.Context, abort <-chan struct{}, in io.Reader, out io.Writer) error {
	s.out.w = out
	done := make(chan error, 1)
	go func() { done <- s.read(ctx, abort, newLines(in)) }()
	var err error
	select {
	case err = <-done:
		s.end(errClosed, func(c *call) bool { return c.load })
	case <-ctx.Done():
		s.end(context.Cause(ctx), func(*call) bool { return true })
		err = context.Cause(ctx)
	}
	s.work.Wait()
	return err
}

// end stops calls, and accepts no more.
func (s *Server) end(cause error, which func(*call) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = cause
	for _, c := range s.calls {
		if which(c) {
			c.cancel(cause)
		}
	}
}

func (s *Server) read(ctx context.Context, abort <-chan struct{}, in lines) error {
	for {
		line, err := in.next()
		switch {
		case errors.Is(err, errLong):
			s.out.write(respond(nil, nil, &fault{Code: codeRequest, Message: errLong.Error() + "; send a shorter message"}))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read standard input: %w", err)
		case line[0] == '[':
			s.batch(ctx, abort, line)
		default:
			s.one(ctx, abort, line, func(r *response) {
				if r != nil {
					s.out.write(r)
				}
			})
		}
	}
}

// batch answers an array of messages with one of responses.
func (s *Server) batch(ctx context.Context, abort <-chan struct{}, line []byte) {
	var list []json.RawMessage
	err := json.Unmarshal(line, &list)
	s.mu.Lock()
	agreed := s.revision
	s.mu.Unlock()
	switch {
	case err != nil:
		s.out.write(respond(nil, nil, &fault{Code: codeParse, Message: "not JSON: " + err.Error()}))
		return
	case agreed != batched || len(list) == 0 || len(list) > maxBatch:
		s.out.write(respond(nil, nil, &fault{Code: codeRequest, Message: fmt.Sprintf("an array of messages is only in revision %s, with 1 to %d messages; send one message a line", batched, maxBatch)}))
		return
	}
	var mu sync.Mutex
	var answers []*response
	var all sync.WaitGroup
	for _, text := range list {
		all.Add(1)
		s.one(ctx, abort, text, func(r *response) {
			defer all.Done()
			if r != nil {
				mu.Lock()
				defer mu.Unlock()
				answers = append(answers, r)
			}
		})
	}
	s.work.Go(func() {
		all.Wait()
		if len(answers) > 0 {
			s.out.write(answers)
		}
	})
}

// one answers a message. answer gets the response once; nil: there is none.
func (s *Server) one(ctx context.Context, abort <-chan struct{}, line []byte, answer func(*response)) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		code, text := codeParse, "not JSON: "+err.Error()
		if json.Valid(line) {
			code, text = codeRequest, "not a message of JSON-RPC: "+err.Error()
		}
		answer(respond(nil, nil, &fault{Code: code, Message: text}))
		return
	}
	switch {
	case m.Method == "" && (m.Result != nil || m.Error != nil):
		answer(nil) // takt asks the client nothing
	case m.Version != "2.0" || m.Method == "" || m.ID != nil && !validID(m.ID):
		answer(respond(nil, nil, &fault{Code: codeRequest, Message: `not a message of JSON-RPC 2.0: it has "jsonrpc": "2.0", a method, and an id that is a text or a number`}))
	case m.ID == nil:
		s.notified(m)
		answer(nil)
	case m.Method == "tools/call":
		s.called(ctx, abort, m, answer)
	default:
		result, err := s.ask(m)
		answer(respond(m.ID, result, err))
	}
}

// notified handles a notification. Only a cancellation means anything to takt.
func (s *Server) notified(m message) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if m.Method != "notifications/cancelled" || json.Unmarshal(m.Params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[string(p.ID)]; c != nil {
		c.cancel(errCancelled)
	}
}

// meta is what a client says of its request.
type meta struct {
	Revision *string         `json:"io.modelcontextprotocol/protocolVersion"` // nil: that which was agreed on
	Progress json.RawMessage `json:"progressToken"`
}

// metaOf reads the meta of a request. Its error is a fault.
func metaOf(params json.RawMessage) (meta, error) {
	var p struct {
		Meta meta `json:"_meta"`
	}
	if len(params) > 0 {
		if err := json.Unmarshal(params, &p); err != nil {
			return meta{}, &fault{Code: codeParams, Message: "params: " + err.Error()}
		}
	}
	if r := p.Meta.Revision; r != nil && !slices.Contains(revisions(), *r) {
		return meta{}, &fault{Code: codeUnsupported, Message: "unsupported protocol version", Data: map[string]any{"supported": revisions(), "requested": *r}}
	}
	return p.Meta, nil
}

// complete adds to a result what the revision of the request asks for.
func (s *Server) complete(m meta, result map[string]any) map[string]any {
	if m.Revision != nil && *m.Revision >= modern {
		result["resultType"] = "complete"
		result["_meta"] = map[string]any{metaServer: s.info()}
	}
	return result
}

func (s *Server) info() map[string]any {
	return map[string]any{"name": "takt", "title": "takt, a load generator", "version": s.host.Version}
}

// ask answers a request that is no tool call. Its error is a fault.
func (s *Server) ask(m message) (any, error) {
	about, err := metaOf(m.Params)
	if err != nil {
		return nil, err
	}
	capabilities := map[string]any{"tools": map[string]any{}}
	forGood := func(result map[string]any) map[string]any { // only modern clients know these fields
		if about.Revision != nil && *about.Revision >= modern {
			result["ttlMs"], result["cacheScope"] = 3600_000, "private"
		}
		return s.complete(about, result)
	}
	switch m.Method {
	case "initialize":
		agreed, err := s.agree(m.Params)
		if err != nil {
			return nil, err
		}
		return map[string]any{"protocolVersion": agreed, "capabilities": capabilities, "serverInfo": s.info(), "instructions": instructions}, nil
	case "server/discover":
		return forGood(map[string]any{"supportedVersions": revisions(), "capabilities": capabilities, "serverInfo": s.info(), "instructions": instructions}), nil
	case "ping":
		return s.complete(about, map[string]any{}), nil
	case "tools/list":
		list := make([]map[string]any, 0, len(s.tools))
		for _, t := range s.tools {
			list = append(list, t.describe(&s.options))
		}
		return forGood(map[string]any{"tools": list}), nil
	}
	return nil, &fault{Code: codeMethod, Message: fmt.Sprintf("unknown method %q; takt has tools/list and tools/call", shorten(m.Method, 100))}
}

// agree is the answer to the revision that a client proposes: that one, or the newest that begins so.
func (s *Server) agree(params json.RawMessage) (string, error) {
	var p struct {
		Revision string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.Revision == "" {
		return "", &fault{Code: codeParams, Message: "initialize needs params.protocolVersion, one of " + strings.Join(revisions()[1:], ", ")}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision = newest; slices.Contains(revisions()[1:], p.Revision) {
		s.revision = p.Revision
	}
	return s.revision, nil
}

// called begins a tool call.
func (s *Server) called(ctx context.Context, abort <-chan struct{}, m message, answer func(*response)) {
	t, about, values, err := s.understand(m)
	var refused *result
	if errors.As(err, &refused) {
		answer(respond(m.ID, s.complete(about, refused.fields()), nil))
		return
	}
	var c *call
	if err == nil {
		ctx, c, err = s.enter(ctx, string(m.ID), t.load)
	}
	if err != nil {
		answer(respond(m.ID, nil, err))
		return
	}
	s.work.Go(func() {
		found := s.perform(ctx, abort, t, values, about)
		s.leave(string(m.ID), c)
		if errors.Is(context.Cause(ctx), errCancelled) {
			answer(nil) // the client asked for no answer
			return
		}
		answer(respond(m.ID, s.complete(about, found.fields()), nil))
	})
}

// understand reads a call. Its error is a fault, or a result that says what is wrong with the arguments: the
// agent reads that one, and calls again.
func (s *Server) understand(m message) (*tool, meta, values, error) {
	about, err := metaOf(m.Params)
	if err != nil {
		return nil, about, nil, err
	}
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, about, nil, &fault{Code: codeParams, Message: `tools/call needs params with "name" and "arguments"`}
	}
	i := slices.IndexFunc(s.tools, func(t *tool) bool { return t.name == p.Name })
	if i < 0 {
		return nil, about, nil, &fault{Code: codeParams, Message: fmt.Sprintf("unknown tool %q; tools/list names them", shorten(p.Name, 100))}
	}
	v, faults := s.tools[i].read(p.Arguments)
	if len(faults) > 0 {
		return nil, about, nil, refusal(errors.Join(faults...))
	}
	return s.tools[i], about, v, nil
}

// enter notes a call that begins. Its error is a fault.
func (s *Server) enter(ctx context.Context, id string, load bool) (context.Context, *call, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing != nil:
		return nil, nil, &fault{Code: codeRequest, Message: "takt is ending"}
	case s.calls[id] != nil:
		return nil, nil, &fault{Code: codeRequest, Message: "a call with this id is not answered yet; give another id"}
	case len(s.calls) >= maxCalls:
		return nil, nil, &fault{Code: codeRequest, Message: fmt.Sprintf("%d calls run or wait already; call again after an answer", maxCalls)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{load, cancel}
	s.calls[id] = c
	return ctx, c, nil
}

func (s *Server) leave(id string, c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.cancel(nil)
	delete(s.calls, id)
}
