package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/value"
)

// Bounds of prompts.
const (
	mostWords   = 1_000_000 // of a prompt that is made
	mostMade    = 1000      // prompts that are made; they come in turn
	madeBytes   = 32 << 20  // of them together
	mostPrompts = 100_000   // of a file
	mostFile    = 256 << 20 // bytes of a file
	wordBytes   = 6         // of a word of a made prompt with its blank, about
)

// prompt is what a request asks: a text, or messages as they are.
type prompt struct {
	text     string
	messages json.RawMessage // nil: text
}

// prompts are those of the file, or made ones.
func (o *Options) prompts() ([]prompt, error) {
	if o.Prompts == "" {
		return made(o.Words, o.seed), nil
	}
	f, err := files.Open(o.Prompts)
	if err != nil {
		return nil, value.About(fmt.Errorf("cannot read the prompts: %w; check --prompts", err), "prompts")
	}
	defer f.Close()
	b, err := files.ReadAll(f, o.Prompts, mostFile)
	if err != nil {
		return nil, value.About(err, "prompts")
	}
	list, err := parsePrompts(files.TextOf(b))
	if err != nil {
		return nil, value.About(fmt.Errorf("--prompts %s: %w", o.Prompts, err), "prompts")
	}
	return list, nil
}

// made are prompts of random words, each of which begins otherwise, so that a server's cache of prefixes does not
// know it.
func made(words int, seed uint64) (list []prompt) {
	r := rand.New(rand.NewPCG(seed, 6))
	vocabulary := strings.Fields("time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city name team minute idea kid body back")
	for range max(1, min(mostMade, madeBytes/(words*wordBytes))) {
		var b strings.Builder
		for i := range words {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(vocabulary[r.IntN(len(vocabulary))])
		}
		list = append(list, prompt{text: b.String()})
	}
	return list
}

// parsePrompts reads a file: an array of JSON, lines of JSON, or plain lines.
func parsePrompts(b []byte) (list []prompt, err error) {
	var entries []json.RawMessage
	switch first := bytes.TrimSpace(b); {
	case len(first) == 0:
		return nil, errors.New("it is empty; write a prompt on each line")
	case first[0] == '[':
		if err := json.Unmarshal(first, &entries); err != nil {
			return nil, fmt.Errorf("it begins as a JSON array and is none: %w; a file of plain lines may not begin with [", err)
		}
	case first[0] == '{':
		for line := range bytes.Lines(first) {
			entries = append(entries, bytes.TrimSpace(line))
		}
	default:
		list, err = plainLines(b)
	}
	for i, entry := range entries {
		if len(entry) == 0 {
			continue
		}
		one, err := entryOf(entry)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		list = append(list, one)
	}
	if len(list) > mostPrompts {
		return nil, fmt.Errorf("it has %d prompts; give %d at most", len(list), mostPrompts)
	}
	return list, err
}

// plainLines are the lines that are not empty.
func plainLines(b []byte) (list []prompt, err error) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, mostFile)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			list = append(list, prompt{text: strings.ToValidUTF8(line, "\ufffd")})
		}
	}
	return list, lines.Err()
}

// entryOf reads {"prompt":…}, {"messages":…}, or ShareGPT's {"conversations":[{"from":"human","value":…}]}, of which
// the first turn of a person is the prompt.
func entryOf(b []byte) (p prompt, err error) {
	var e struct {
		Prompt        *string
		Messages      json.RawMessage
		Conversations []struct{ From, Value string }
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return p, fmt.Errorf("not a JSON object with prompt, messages or conversations: %w", err)
	}
	switch {
	case e.Prompt != nil:
		return prompt{text: *e.Prompt}, nil
	case len(e.Messages) > 0 && e.Messages[0] == '[':
		return prompt{messages: e.Messages}, nil
	}
	for _, turn := range e.Conversations {
		if turn.From == "human" || turn.From == "user" {
			return prompt{text: turn.Value}, nil
		}
	}
	return p, errors.New(`it has no prompt; write {"prompt":"…"}, {"messages":[…]} or ShareGPT's {"conversations":[{"from":"human","value":"…"}]}`)
}
