package answer

import (
	"bytes"

	"github.com/taktload/takt/internal/parts"
)

// object is the data of p if it is an object. Other data is an error in words, which some servers send, unless it
// is empty.
func (s *Stream) object(p parts.Part) (b []byte, ok bool) {
	b = blank(p.Data)
	switch {
	case len(b) == 0:
		return nil, false
	case b[0] != '{':
		s.fail(bytes.TrimSpace(b))
		return nil, false
	case string(p.Name) == "error":
		s.fail(inError(b))
		return nil, false
	}
	return b, true
}

// inError is the value of the member error of b, or b.
func inError(b []byte) []byte {
	for name, value := range members(b) {
		if string(name) == "error" && !null(value) {
			return value
		}
	}
	return b
}

// readOpenAI reads a chunk of chat completions, or of completions.
func readOpenAI(s *Stream, p parts.Part) (said Said) {
	if string(bytes.TrimSpace(p.Data)) == "[DONE]" {
		s.done = true
		return Said{Terminal: true}
	}
	b, ok := s.object(p)
	if !ok {
		return said
	}
	var grew, choices bool
	for name, value := range members(b) {
		switch string(name) {
		case "choices":
			for choice := range elements(value) {
				choices = true
				said = said.with(s.choice(choice))
			}
		case "usage":
			had := s.most > 0
			grew = s.usage(value, "prompt_tokens", "completion_tokens") && (had || s.most == 1)
		case "error":
			if !null(value) {
				s.fail(value)
			}
		}
	}
	if grew && choices && said.Output == 0 && !said.Terminal { // its bytes are held back until a character is complete
		said.Output = Content
	}
	return said
}

func (d Said) with(o Said) Said {
	return Said{d.Output | o.Output, d.Terminal || o.Terminal}
}

// choice reads a choice of a chunk.
func (s *Stream) choice(b []byte) (said Said) {
	index := 0
	var reason, words, message []byte
	for name, value := range members(b) {
		switch string(name) {
		case "index":
			index = max(0, number(value))
		case "text":
			if words = value; filled(value) {
				said.Output |= Content
			}
		case "delta", "message":
			said.Output |= channels(value)
			message = value
		case "finish_reason":
			reason = value
		}
	}
	if index == 0 {
		s.gather(words)
		s.gatherIn(message, "content")
	}
	s.seen |= 1 << (index & 63)
	said.Terminal = s.ends(index, reason)
	return said
}

// channels are those with output in a message or a part of one, by the names of OpenAI's API, of servers with
// reasoning, and of Ollama.
func channels(b []byte) (c Channel) {
	for name, value := range members(b) {
		if !filled(value) {
			continue
		}
		switch string(name) {
		case "content", "refusal", "response":
			c |= Content
		case "reasoning_content", "reasoning", "thinking":
			c |= Reasoning
		case "tool_calls", "function_call":
			c |= Tool
		}
	}
	return c
}

// readAnthropic reads an event of Anthropic's API. Events that it does not know say nothing.
func readAnthropic(s *Stream, p parts.Part) (said Said) {
	b, ok := s.object(p)
	if !ok {
		return said
	}
	var kind, message, delta, block, usage, fault []byte
	for name, value := range members(b) {
		switch string(name) {
		case "type":
			kind = value
		case "message":
			message = value
		case "delta":
			delta = value
		case "content_block":
			block = value
		case "usage":
			usage = value
		case "error":
			fault = value
		}
	}
	switch {
	case is(kind, "error"):
		s.fail(fault)
	case is(kind, "message_start"):
		s.seen = 1
		for name, value := range members(message) {
			if string(name) == "usage" { // its output tokens are those of the start, and no total
				s.usage(value, "input_tokens", "")
			}
		}
	case is(kind, "content_block_start"):
		said.Output = blockChannel(block)
		s.gatherIn(block, "text")
	case is(kind, "content_block_delta"):
		said.Output = blockChannel(delta)
		s.gatherIn(delta, "text")
	case is(kind, "message_delta"):
		s.usage(usage, "input_tokens", "output_tokens")
		for name, value := range members(delta) {
			if string(name) == "stop_reason" {
				said.Terminal = s.ends(0, value)
			}
		}
	case is(kind, "message_stop"):
		s.done, said.Terminal = true, true
	}
	return said
}

// blockChannel is the channel of a block of content, or of a part of one; 0: it has no output.
func blockChannel(b []byte) (c Channel) {
	for name, value := range members(b) {
		if !filled(value) {
			continue
		}
		switch string(name) {
		case "text":
			c |= Content
		case "thinking":
			c |= Reasoning
		case "partial_json", "name":
			c |= Tool
		}
	}
	return c
}

// readOllama reads a line of Ollama's chat or generate.
func readOllama(s *Stream, p parts.Part) (said Said) {
	b, ok := s.object(p)
	if !ok {
		return said
	}
	said.Output = channels(b) // of generate
	var reason []byte
	for name, value := range members(b) {
		switch string(name) {
		case "message":
			s.seen = 1
			said.Output |= channels(value)
			s.gatherIn(value, "content")
		case "response":
			s.seen = 1
			s.gather(value)
		case "done":
			s.done = s.done || string(value) == "true"
		case "done_reason":
			reason = value
		case "prompt_eval_count":
			s.input = max(s.input, number(value))
		case "eval_count":
			s.count(number(value))
		case "error":
			if !null(value) {
				s.fail(value)
			}
		}
	}
	if s.done {
		s.ends(0, reason)
	}
	said.Terminal = s.done
	return said
}
