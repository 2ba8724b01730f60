package payload

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxFaults bounds the errors of one template.
const maxFaults = 10

// parser takes one template apart.
type parser struct {
	env    *Env
	name   string
	parts  []part
	text   []byte // literal text that is not yet a part
	places int    // placeholders so far
	faults []error
}

func (p *parser) run(text string) {
	for len(p.faults) < maxFaults {
		before, after, found := strings.Cut(text, "{{")
		p.text = append(p.text, before...)
		if !found {
			break
		}
		text = p.placeholder(after)
	}
	if len(p.faults) == maxFaults {
		p.faults = append(p.faults, fmt.Errorf("%s: the text after these %d faults was not read", p.name, maxFaults))
	}
	p.flush()
}

// placeholder reads what follows two opening braces, and returns what follows the
// closing ones.
func (p *parser) placeholder(inside string) (rest string) {
	tokens, rest, err := tokenize(inside)
	var made part
	switch {
	case err != nil:
	case len(tokens) == 1 && tokens[0].quoted:
		p.text = append(p.text, tokens[0].text...)
		return rest
	default:
		made, err = p.makePart(tokens)
		p.places++
	}
	if err != nil {
		source := "{{" + inside[:len(inside)-len(rest)]
		p.faults = append(p.faults, fmt.Errorf("%s: %s: %w", p.name, shorten(source), err))
		return rest
	}
	p.flush()
	p.parts = append(p.parts, made)
	return rest
}

// draw gives the random numbers of the placeholder that is being read. They
// depend on how many stand before it, not on the text between them.
func (p *parser) draw() draw { return newDraw(p.env.Seed, p.name, p.places) }

// flush makes a part of the text so far.
func (p *parser) flush() {
	if len(p.text) > 0 {
		p.parts = append(p.parts, literal(p.text))
		p.text = p.text[:0]
	}
}

// shorten keeps errors readable when a brace is not closed in a long body.
func shorten(source string) string {
	const most = 60 // bytes
	if len(source) > most {
		return strings.ToValidUTF8(source[:most], "") + "…"
	}
	return source
}

// token is a word between the braces.
type token struct {
	text   string
	quoted bool // text is without the quotes
}

var (
	errUnclosed = errors.New("the braces are not closed; write }} at the end, or " + braces + " for literal braces")
	errQuote    = errors.New(`cannot read the quoted text; write "…" on one line, with \" for quotes and \\ for a backslash within`)
	errWords    = errors.New("too many words between the braces; close them earlier, or write " + braces + " for literal braces")
)

// maxTokens is more than any placeholder has. It keeps text that happens to have
// braces at both ends, and half a million words between, from taking seconds.
const maxTokens = 8

// blanks separate tokens.
const blanks = " \t\r\n"

// tokenize reads up to the closing braces. After an error rest is where reading
// can go on to find more of them.
func tokenize(s string) (tokens []token, rest string, err error) {
	for {
		s = strings.TrimLeft(s, blanks)
		if after, closed := strings.CutPrefix(s, "}}"); closed {
			return tokens, after, nil
		}
		var t token
		if t, s, err = nextToken(s); err != nil {
			return nil, s, err
		}
		if tokens = append(tokens, t); len(tokens) > maxTokens {
			_, rest, _ = strings.Cut(s, "}}")
			return nil, rest, errWords
		}
	}
}

// nextToken reads one token from s, which does not begin with a blank.
func nextToken(s string) (t token, rest string, err error) {
	end := strings.Index(s, "}}") // first, so that the search for blanks is short
	if end < 0 {
		return t, "", errUnclosed
	}
	if s[0] != '"' && s[0] != '`' {
		if i := strings.IndexAny(s[:end], blanks+"\"`"); i > 0 {
			end = i
		}
		return token{s[:end], false}, s[end:], nil
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return t, s[end+len("}}"):], errQuote
	}
	text, err := strconv.Unquote(quoted)
	return token{text, true}, s[len(quoted):], err
}
