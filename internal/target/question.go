package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// question is what a request asks of a model server.
type question struct {
	chat    bool   // chat/completions, not completions
	whole   bool   // the answer is one body, not a stream
	usage   bool   // the stream ends with the number of tokens
	limited bool   // the request says how many tokens
	tokens  int    // of the answer
	prompt  int    // tokens
	model   string // as JSON
	created int64  // when, in seconds since 1970
}

// errLong is a request whose body is too long to be read.
var errLong = errors.New("request body too large")

// readQuestion reads the body of a request. Without one, the target answers as to an empty prompt, so that a plain
// GET shows a stream, too.
func readQuestion(body []byte, p path, tokens int) (q question, err error) {
	q = question{chat: p == chatPath, tokens: tokens, model: `"takt"`, created: time.Now().Unix()}
	if len(body) == 0 {
		return q, nil
	}
	var in struct {
		Model    string `json:"model"`
		Messages any    `json:"messages"`
		Prompt   any    `json:"prompt"`
		Stream   *bool  `json:"stream"`
		Most     *int   `json:"max_tokens"`
		MostNew  *int   `json:"max_completion_tokens"`
		Options  struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return q, fmt.Errorf("the request is not JSON of this API: %w", err)
	}
	q.whole = in.Stream == nil || !*in.Stream
	q.usage = in.Options.Usage
	q.prompt = (textLength(in.Messages) + textLength(in.Prompt) + promptBytes - 1) / promptBytes
	if in.Model != "" {
		quoted, _ := json.Marshal(in.Model[:min(len(in.Model), 200)]) // each token repeats it
		q.model = string(quoted)
	}
	for _, most := range []*int{in.Most, in.MostNew} {
		if most == nil {
			continue
		}
		if *most < 1 || *most > maxTokens {
			return q, fmt.Errorf("max_tokens is %d; write 1 to %d", *most, maxTokens)
		}
		q.tokens, q.limited = *most, true
	}
	return q, nil
}

// textLength is the length of the text of prompts and messages, in bytes. Their roles and types are none.
func textLength(v any) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		for _, x := range v {
			n += textLength(x)
		}
	case map[string]any:
		n = textLength(v["content"]) + textLength(v["text"])
	}
	return n
}

// The heads of answers, without what belongs to the connection.
const (
	streamType = "text/event-stream; charset=utf-8"
	jsonType   = "application/json"
)

// What the answers of the two calls have between their common parts. All tokens are the same word.
const word = " takt"

// role is the first event of a stream, which has no text.
func (f *flow) role(b []byte) []byte {
	if !f.chat {
		return b
	}
	return f.event(b, `[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]`)
}

// token is the event of a token.
func (f *flow) token(b []byte) []byte {
	if f.chat {
		return f.event(b, `[{"index":0,"delta":{"content":"`+word+`"},"finish_reason":null}]`)
	}
	return f.event(b, `[{"index":0,"text":"`+word+`","finish_reason":null}]`)
}

// tail are the events after the last token.
func (f *flow) tail(b []byte) []byte {
	if f.chat {
		b = f.event(b, `[{"index":0,"delta":{},"finish_reason":"`+f.reason()+`"}]`)
	} else {
		b = f.event(b, `[{"index":0,"text":"","finish_reason":"`+f.reason()+`"}]`)
	}
	if f.usage {
		b = f.event(b, `[],`+f.usageText())
	}
	return append(b, "data: [DONE]\n\n"...)
}

// event appends an event with these choices.
func (f *flow) event(b []byte, choices string) []byte {
	return append(append(f.object(append(b, "data: "...), ".chunk"), choices...), "}\n\n"...)
}

// object begins an object of the API, up to its choices.
func (f *flow) object(b []byte, suffix string) []byte {
	id, kind := `{"id":"cmpl-`, "text_completion"
	if f.chat {
		id, kind = `{"id":"chatcmpl-`, "chat.completion"+suffix
	}
	b = append(b, id...)
	b = strconv.AppendUint(b, f.number, 10)
	b = append(append(append(b, `","object":"`...), kind...), `","created":`...)
	b = strconv.AppendInt(b, f.created, 10)
	b = append(b, `,"model":`...)
	b = append(b, f.model...)
	return append(b, `,"choices":`...)
}

func (f *flow) usageText() string {
	return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, f.prompt, f.tokens, f.prompt+f.tokens)
}

func (f *flow) reason() string {
	if f.limited {
		return "length"
	}
	return "stop"
}

// body is the answer to a request that wants no stream.
func (f *flow) body() []byte {
	text := make([]byte, 0, len(word)*f.tokens)
	for range f.tokens {
		text = append(text, word...)
	}
	b := f.object(nil, "")
	if f.chat {
		b = fmt.Appendf(b, `[{"index":0,"message":{"role":"assistant","content":"%s"},"finish_reason":"%s"}]`, text, f.reason())
	} else {
		b = fmt.Appendf(b, `[{"index":0,"text":"%s","finish_reason":"%s"}]`, text, f.reason())
	}
	return append(append(append(b, ','), f.usageText()...), '}')
}

// models is the answer to a client that asks which models there are.
const models = `{"object":"list","data":[{"id":"takt","object":"model","created":0,"owned_by":"takt target"}]}`

// apiError is the body of a failure.
func apiError(status int, text string) []byte {
	b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": text, "type": http.StatusText(status), "code": status}}) // strings and a number
	return b
}
