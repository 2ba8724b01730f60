package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// maxLine limits a line of the client, in bytes: a call has some kilobytes.
const maxLine = 1 << 20

// maxBatch limits the messages of a batch.
const maxBatch = 100

// The codes of JSON-RPC, and one of MCP.
const (
	codeParse       = -32700
	codeRequest     = -32600
	codeMethod      = -32601
	codeParams      = -32602
	codeUnsupported = -32022
)

// message is a request or a notification; one with a result or an error is a response, which takt never asks for.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // nil: a notification
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// response is the answer to a request.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // null: the request has no id that takt could read
	Result  any             `json:"result,omitempty"`
	Error   *fault          `json:"error,omitempty"`
}

// fault is an error of the protocol. What a tool refuses is a result.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (f *fault) Error() string { return f.Message }

// notification is a message to the client that asks for no answer.
type notification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// respond is the response with a result or an error; err has to be a fault.
func respond(id json.RawMessage, result any, err error) *response {
	r := &response{Version: "2.0", ID: id, Result: result}
	if f := (*fault)(nil); errors.As(err, &f) {
		r.Result, r.Error = nil, f
	}
	return r
}

var errLong = errors.New("the line is longer than 1 MiB")

// lines reads lines of at most maxLine bytes.
type lines struct{ r *bufio.Reader }

func newLines(r io.Reader) lines { return lines{bufio.NewReaderSize(r, maxLine)} }

// next returns the next line that is not empty, which the next call overwrites. It skips a line that is too
// long, and returns errLong.
func (l lines) next() ([]byte, error) {
	for {
		line, err := l.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = l.r.ReadSlice('\n')
			}
			return nil, errLong
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 || err != nil {
			if len(line) > 0 {
				err = nil // the last line may have no end
			}
			return line, err
		}
	}
}

// output writes messages, a line each, for several goroutines.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

// write writes a message. A client that reads no more ends the session by its standard input.
func (o *output) write(m any) {
	text := append(plainJSON(m), '\n')
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.w.Write(text)
}

// plainJSON is v in a line, with <, > and & as they are: conditions have them.
func plainJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // a figure that JSON does not have, such as NaN
		b.Reset()
		_ = e.Encode(map[string]string{"error": err.Error()})
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// validID reports whether an id is a text or a number.
func validID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}
