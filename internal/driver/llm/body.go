package llm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/driver/llm/answer"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/value"
)

// mostBodies is how many bytes the bodies of all requests may have together.
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

// makeBodies makes the body of a request for each prompt.
func (o *Options) makeBodies() error {
	list, err := o.prompts()
	if err != nil {
		return err
	}
	o.bodies = o.bodies[:0]
	size := 0
	for i, p := range list {
		b, err := o.body(p)
		if err != nil {
			return value.About(fmt.Errorf("prompt %d: %w", i+1, err), "prompts")
		}
		if size += len(b); size > mostBodies {
			return value.About(fmt.Errorf("the requests of the first %d prompts have more than 1 GiB; give fewer or shorter prompts", i+1), "prompts")
		}
		o.bodies = append(o.bodies, b)
	}
	return nil
}

// talks reports whether requests have messages, and not a prompt.
func (o *Options) talks() bool {
	return o.api != answer.Text && !strings.HasSuffix(strings.TrimRight(o.url.Path, "/"), "/generate")
}

// body is the body of a request. Members of --extra replace takt's.
func (o *Options) body(p prompt) ([]byte, error) {
	m := map[string]any{"stream": true}
	if o.Model != "" {
		m["model"] = o.Model
	}
	switch {
	case !o.talks() && p.messages != nil:
		return nil, fmt.Errorf("it has messages, and requests to %s have a text; give {\"prompt\":…}, or a url that ends with /chat/completions", o.url.Path)
	case !o.talks():
		m["prompt"] = p.text
	case p.messages != nil:
		m["messages"] = p.messages
	default:
		m["messages"] = []map[string]string{{"role": "user", "content": p.text}}
	}
	switch o.api {
	case answer.Chat, answer.Text:
		m["stream_options"] = map[string]bool{"include_usage": true}
		o.limit(m, "max_tokens")
	case answer.Anthropic:
		o.limit(m, "max_tokens")
	case answer.Ollama:
		options := map[string]any{}
		o.limit(options, "num_predict")
		m["options"] = options
	}
	for name, extra := range o.extra {
		m[name] = extra
	}
	return json.Marshal(m)
}

// limit adds the most tokens of an answer.
func (o *Options) limit(m map[string]any, name string) {
	if o.MaxTokens > 0 {
		m[name] = o.MaxTokens
	}
}
