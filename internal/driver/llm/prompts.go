package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/value"
)

// Bounds of a file of prompts.
const (
	mostPrompts = 100_000
	mostFile    = 256 << 20 // bytes
	mostTurns   = 1000      // of a conversation
)

// script is what a person says: one turn, or several in a conversation.
type script struct {
	turns [][]byte // messages with commas between them, or the inside of a string where requests have a text
	open  int      // where the first words are in the first turn that are each operation's own; 0: nowhere
	words int      // of the first turn, if open is not 0
}

// entry is what a file says of one conversation: the turns of a person, or messages as they are.
type entry struct {
	texts    []string
	messages []json.RawMessage // nil: texts
}

// scripts are those of the file, or made ones.
func (o *Options) scripts() (list []script, err error) {
	if o.Prompts == "" {
		return o.made()
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
	entries, empty, err := parsePrompts(files.TextOf(b))
	if o.empty = empty; err != nil {
		return nil, value.About(fmt.Errorf("--prompts %s: %w", o.Prompts, err), "prompts")
	}
	draws := rand.New(rand.NewPCG(o.seed, 9))
	for i, e := range entries {
		s, err := o.script(e, int(o.turns.Draw(draws)))
		if err != nil {
			return nil, value.About(fmt.Errorf("prompt %d: %w", i+1, err), "prompts")
		}
		list = append(list, s)
	}
	return list, nil
}

// script is an entry as a conversation of so many turns at most.
func (o *Options) script(e entry, turns int) (s script, err error) {
	if e.messages == nil {
		for _, text := range e.texts[:min(turns, len(e.texts))] {
			s.turns = append(s.turns, o.asked(text).json)
		}
		return s, nil
	}
	if !o.hasMessages() {
		return s, fmt.Errorf("it has messages, and requests to %s have a text; give {\"prompt\":…}, or a url that ends with /chat/completions", o.url.Path)
	}
	if o.PrefixTokens > 0 && len(e.messages) > 0 && roleOf(e.messages[0]) == "system" {
		return s, errors.New("it has a system message of its own; leave out --prefix-tokens")
	}
	if o.converses() {
		s.turns, err = split(e.messages, turns)
		return s, err
	}
	s.turns = [][]byte{joined(e.messages)}
	return s, nil
}

// split cuts messages into turns of a person, so many at most. An answer ends a turn, and what it says does not matter.
func split(messages []json.RawMessage, most int) (turns [][]byte, err error) {
	var turn []json.RawMessage
	asks := false
	for i, m := range messages {
		switch role := roleOf(m); role {
		case "user":
			asks = true
		case "system", "developer":
		case "assistant":
			if asks {
				turns, turn, asks = append(turns, joined(turn)), nil, false
				continue
			}
		default:
			return nil, fmt.Errorf("message %d has the role %.40q; those of conversations are system, developer, user and assistant", i+1, role)
		}
		turn = append(turn, m)
	}
	if asks {
		turns = append(turns, joined(turn))
	}
	if len(turns) == 0 {
		return nil, errors.New("it has no message with the role user")
	}
	return turns[:min(most, len(turns))], nil
}

// joined are messages with commas between them.
func joined(list []json.RawMessage) []byte {
	var b []byte
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m...)
	}
	return b
}

// roleOf is the role of a message; "": it has none.
func roleOf(message json.RawMessage) string {
	var m struct{ Role string }
	_ = json.Unmarshal(message, &m) // the server says what is wrong with it
	return m.Role
}

// question is a text as part of a request.
type question struct {
	json []byte
	text int // where the text begins in json
}

// asked is the question of a person.
func (o *Options) asked(text string) question {
	const before, after = `{"role":"user","content":`, `}`
	q := quoted(text)
	if !o.hasMessages() {
		return question{json: q[1 : len(q)-1]}
	}
	return question{slices.Concat([]byte(before), q, []byte(after)), len(before) + 1}
}

// quoted is a text as JSON.
func quoted(text string) []byte {
	b, _ := json.Marshal(text) // a string does not fail
	return b
}

// parsePrompts reads a file: an array of JSON, lines of JSON, or plain lines. empty is the number of conversations that
// it passes over, since no person says anything in them: files of others have such.
func parsePrompts(b []byte) (list []entry, empty int, err error) {
	var entries []json.RawMessage
	switch first := bytes.TrimSpace(b); {
	case len(first) == 0:
		return nil, 0, errors.New("it is empty; write a prompt on each line")
	case first[0] == '[':
		if err := json.Unmarshal(first, &entries); err != nil {
			return nil, 0, fmt.Errorf("it begins as a JSON array and is none: %w; a file of plain lines may not begin with [", err)
		}
	case first[0] == '{':
		for line := range bytes.Lines(first) {
			entries = append(entries, bytes.TrimSpace(line))
		}
	default:
		list, err = plainLines(b)
	}
	for i, e := range entries {
		if len(e) == 0 {
			continue
		}
		switch one, err := entryOf(e); {
		case errors.Is(err, errNobody):
			empty++
		case err != nil:
			return nil, 0, fmt.Errorf("entry %d: %w", i+1, err)
		default:
			list = append(list, one)
		}
	}
	switch {
	case err != nil:
	case len(list) == 0:
		err = errNobody
	case len(list) > mostPrompts:
		err = fmt.Errorf("it has %d prompts; give %d at most", len(list), mostPrompts)
	}
	return list, empty, err
}

// plainLines are the lines that are not empty.
func plainLines(b []byte) (list []entry, err error) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, mostFile)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			list = append(list, entry{texts: []string{strings.ToValidUTF8(line, "\ufffd")}})
		}
	}
	return list, lines.Err()
}

// errNobody is a conversation in which no person says anything.
var errNobody = errors.New("no person says anything in its conversations; takt sends what has \"from\":\"human\"")

// shapes are those of an entry.
const shapes = `{"prompt":"…"}, {"messages":[…]} or ShareGPT's {"conversations":[{"from":"human","value":"…"}]}`

// slip is what is wrong with an entry, in words that do not name Go's types.
func slip(err error) string {
	var other *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &other):
		return fmt.Sprintf("it is no JSON object on one line: %v", err)
	case other.Field == "":
		return "it is a JSON " + other.Value + ", and no object"
	}
	return fmt.Sprintf("%s is a JSON %s", strings.ToLower(other.Field), other.Value)
}

// entryOf reads {"prompt":…}, {"messages":…}, or ShareGPT's {"conversations":[{"from":"human","value":…}]}, of which
// it takes what a person says.
func entryOf(b []byte) (e entry, err error) {
	var in struct {
		Prompt        *string
		Messages      []json.RawMessage
		Conversations []struct{ From, Value string }
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return e, fmt.Errorf("%s; write %s", slip(err), shapes)
	}
	switch {
	case in.Prompt != nil:
		return entry{texts: []string{*in.Prompt}}, nil
	case in.Messages != nil:
		return entry{messages: in.Messages}, nil
	case in.Conversations == nil:
		return e, errors.New("it has no prompt; write " + shapes)
	}
	for _, turn := range in.Conversations {
		if (turn.From == "human" || turn.From == "user") && strings.TrimSpace(turn.Value) != "" {
			e.texts = append(e.texts, turn.Value)
		}
	}
	if e.texts == nil {
		return e, errNobody
	}
	return e, nil
}
