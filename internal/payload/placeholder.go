package payload

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/files"
)

// maxRandString is the longest random string, 64 KiB: longer bodies are cut from
// Random, at a fraction of the cost.
const maxRandString = 64 << 10

// kind is a placeholder: a row of the table of them.
type kind struct {
	name  string
	usage []string
	build func(p *parser, args []token) (part, error) // nil: see encoders
}

func kinds() []kind {
	return []kind{
		{".Seq", []string{`{{.Seq}}`}, plain(func(draw) part { return number{} })},
		{".Run", []string{`{{.Run}}`}, makeRunID},
		{"uuid", []string{`{{uuid}}`}, plain(func(d draw) part { return uuid{d} })},
		{"randInt", []string{`{{randInt 1 100}}`}, makeRandInt},
		{"zipf", []string{`{{zipf 1000}}`, `{{zipf 1000 1.2}}`}, makeZipf},
		{"randString", []string{`{{randString 16}}`}, makeRandString(letters)},
		{"randHex", []string{`{{randHex 32}}`}, makeRandString(hexDigits)},
		{"now", []string{`{{now}}`}, plain(func(draw) part { return now{} })},
		{"unixMilli", []string{`{{unixMilli}}`}, plain(func(draw) part { return unixMilli{} })},
		{"traceparent", []string{`{{traceparent}}`}, makeTraceparent},
		{"date", []string{`{{date "%Y-%m-%d"}}`, `{{date "%FT%TZ" +24h}}`}, makeDate},
		{"file", []string{`{{file "ids.txt"}}`, `{{file "users.csv" 2}}`, `{{file "orders.csv" 2 header random}}`}, makeFeed},
		{"env", []string{`{{env "NAME"}}`}, makeEnv},
		{"url", []string{`{{url file "ids.txt"}}`}, nil},
		{"json", []string{`{{json file "ids.txt"}}`}, nil},
		{"base64", []string{`{{base64 "user:password"}}`}, nil},
		{"hmac", []string{`{{hmac sha256 "key.txt" .Seq}}`}, makeHMAC},
	}
}

// IsPlaceholder reports whether {{name}} is a placeholder, so that it cannot be a value.
func IsPlaceholder(name string) bool {
	return slices.ContainsFunc(kinds(), func(k kind) bool { return k.usage[0] == "{{"+name+"}}" })
}

// braces is how literal braces are written.
const braces = `{{"{{"}}`

// placeholders lists what a template can hold, each as an example, and as the
// last one the way to write literal braces. It is for help texts.
func placeholders() []string {
	var list []string
	for _, k := range kinds() {
		list = append(list, k.usage...)
	}
	return append(list, braces)
}

// makePart gives the part for what stands between two braces.
func (p *parser) makePart(tokens []token) (part, error) {
	if len(tokens) > 0 {
		if by := encoderOf(tokens[0]); by != nil && !(len(tokens) == 1 && slices.Contains(p.env.Values, by.name)) {
			made, err := makeEncoded(p, by, tokens[1:])
			if err == errArguments {
				err = fmt.Errorf("%w; write {{%s NAME}} with a placeholder or a captured value behind the word", err, by.name)
			}
			return made, err
		}
	}
	for _, k := range kinds() {
		if k.build == nil || len(tokens) == 0 || tokens[0].quoted || tokens[0].text != k.name {
			continue
		}
		part, err := k.build(p, tokens[1:])
		if len(tokens) == 1 && errors.Is(err, errArguments) && slices.Contains(p.env.Values, k.name) {
			break // it is the name of a value
		}
		if errors.Is(err, errArguments) {
			return nil, fmt.Errorf("%w; write %s", err, strings.Join(k.usage, " or "))
		}
		return part, err
	}
	if len(tokens) == 1 && slices.Contains(p.env.Values, tokens[0].text) {
		return given{tokens[0].text}, nil
	}
	list := placeholders()
	last := len(list) - 1
	return nil, fmt.Errorf("%w; known are %s; literal braces are %s", ErrUnknown, strings.Join(list[:last], " "), list[last])
}

// errArguments is completed with the usage.
var errArguments = errors.New("wrong arguments")

// plain is for placeholders without arguments.
func plain(build func(draw) part) func(*parser, []token) (part, error) {
	return func(p *parser, args []token) (part, error) {
		if len(args) > 0 {
			return nil, errArguments
		}
		return build(p.draw()), nil
	}
}

// makeEnv makes the part of {{env "NAME"}}: text that is known before the run, as if it were written there.
func makeEnv(_ *parser, args []token) (part, error) {
	if len(args) != 1 || !args[0].quoted || args[0].text == "" {
		return nil, errArguments
	}
	value, err := files.Getenv(args[0].text)
	return literal(value), err
}

func makeRandInt(p *parser, args []token) (part, error) {
	if len(args) != 2 {
		return nil, errArguments
	}
	first, err1 := args[0].int()
	last, err2 := args[1].int()
	if err := errors.Join(err1, err2); err != nil {
		return nil, errArguments
	}
	if first > last {
		return nil, fmt.Errorf("%d is greater than %d; write the smaller number first", first, last)
	}
	return randInt{p.draw(), first, uint64(last) - uint64(first) + 1}, nil
}

// makeRandString is for random strings of these letters.
func makeRandString(letters string) func(*parser, []token) (part, error) {
	return func(p *parser, args []token) (part, error) {
		if len(args) != 1 {
			return nil, errArguments
		}
		n, err := args[0].int()
		if err != nil {
			return nil, errArguments
		}
		if n < 1 || n > maxRandString {
			return nil, fmt.Errorf("a random string has 1 to %d characters, not %d; choose a length within", maxRandString, n)
		}
		return randString{p.draw(), int(n), letters}, nil
	}
}

// int reads a whole number of 64 bits.
func (t token) int() (int64, error) {
	if t.quoted {
		return 0, errArguments
	}
	return strconv.ParseInt(t.text, 10, 64)
}
