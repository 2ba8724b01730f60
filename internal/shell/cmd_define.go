package shell

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Limits of a user's definitions.
const (
	maxDefinitions = 1000
	maxDefinition  = 16 << 10 // bytes of one text
)

func defineCommands() []command {
	return []command{{
		name: "define", args: "[NAME WORDS… | rm NAME | PATTERN]", short: "give words a name, or list these names", prepare: notAlone,
		long: fmt.Sprintf(`takt replaces NAME in a line with WORDS, which may contain other names, ; between
commands, and the placeholder $. It does so until no name is left, at most %d times a line.
  define co apm switch -fcmv $
  define ones test 30s 1 1 1 1
  define do co ; ones
  do master ; do axw/trace-apm-server
After each command of a line, all $ up to there get, in order, the last words that follow the
first word of this command. If it has fewer words than there are $, they wait for a later
command, so the last line can also be
  do ; do master axw/trace-apm-server
If a $ has no word at the end of the line, nothing of the line runs. takt replaces nothing
in quotes.
define lists your definitions, define PATTERN those that contain PATTERN, define rm NAME
deletes one. A user's sessions share them, also after a restart, so takt refuses words with
a password.`, maxSubstitutions-1),
	}}
}

// notAlone refuses a define after another command: its text would be the rest of that line.
func notAlone(*session, []string) (action, error) {
	return action{}, errors.New("write it at the beginning of a line")
}

func prepareDefine(c *session, args []string) (action, error) {
	switch {
	case len(args) == 0:
		return action{now: func(c *session) { c.listDefinitions("") }}, nil
	case len(args) == 1:
		return action{now: func(c *session) { c.listDefinitions(args[0]) }}, nil
	case args[0] == "rm":
		return action{now: func(c *session) { c.undefine(args[1:]) }}, nil
	}
	name := args[0]
	_, reserved := find(name)
	switch {
	case reserved || name == "rm":
		return action{}, fmt.Errorf("%s is a command; choose another name", name)
	case strings.ContainsAny(name, ";$#'\"\\ \t") || strings.HasPrefix(name, "-") || len(name) > 64:
		return action{}, fmt.Errorf("%q cannot be a name; use letters and digits", name)
	case slices.Contains(args[1:], name):
		return action{}, fmt.Errorf("the words of %s contain %s itself; that would never end", name, name)
	}
	return action{now: func(*session) {}}, nil
}

// prepareDefinition checks a line that begins with define.
func (c *session) prepareDefinition(line string) (action, error) {
	words, err := split(line)
	if err != nil {
		return action{}, err
	}
	a, err := prepareDefine(c, texts(words[1:]))
	if err != nil || len(words) < 3 || words[1].is("rm") {
		return a, prefixedIf("define", err)
	}
	name, text := words[1].text, textBehind(line, 2)
	switch {
	case len(text) > maxDefinition:
		return action{}, fmt.Errorf("define: the text of %s is longer than %d bytes", name, maxDefinition)
	case c.holdsSecret(text):
		return action{secret: true}, errors.New("define: the words contain a password or a token, and takt saves definitions to disk; use $ instead, a flag that names a file, or the environment of the server")
	}
	return action{now: func(c *session) { c.define(name, text) }}, nil
}

func prefixedIf(name string, err error) error {
	if err == nil {
		return nil
	}
	return prefixed(name, err)
}

// textBehind is the text after the first n words of a line, as it was typed.
func textBehind(line string, n int) string {
	rest := strings.TrimSpace(line)
	for range n {
		_, length, _ := nextWord(rest) // no error: split has read the line before
		rest = strings.TrimSpace(rest[length:])
	}
	return rest
}

// holdsSecret reports whether a segment of the text contains a secret, as a command or as
// the words after the name of any command.
func (c *session) holdsSecret(text string) bool {
	words, _ := split(text) // no error: prepareDefinition has split the line
	for _, segment := range cut(words) {
		if a, _ := c.prepare(texts(segment)); a.secret {
			return true
		}
		for _, cmd := range commands() {
			if a, _ := cmd.prepare(c, texts(segment)); a.secret && cmd.name != "auth" {
				return true
			}
		}
	}
	return false
}

func (c *session) define(name, text string) {
	old, had := "", false
	full := false
	err := c.user.change(func(k *kept) {
		old, had = k.Definitions[name]
		if full = !had && len(k.Definitions) >= maxDefinitions; !full {
			if k.Definitions == nil {
				k.Definitions = map[string]string{}
			}
			k.Definitions[name] = text
		}
	})
	switch {
	case full:
		c.fail(fmt.Errorf("you have %d definitions already; delete some with define rm", maxDefinitions))
		return
	case had:
		c.say("updated old value: " + old)
	default:
		c.say("ok")
	}
	if err != nil {
		c.fail(err)
	}
}

func (c *session) undefine(names []string) {
	var unknown []string
	err := c.user.change(func(k *kept) {
		for _, name := range names {
			if _, ok := k.Definitions[name]; !ok {
				unknown = append(unknown, name)
			}
			delete(k.Definitions, name)
		}
	})
	if len(unknown) > 0 {
		c.fail(fmt.Errorf("not defined: %s", strings.Join(unknown, ", ")))
	}
	if len(unknown) < len(names) {
		c.say("ok")
	}
	if err != nil {
		c.fail(err)
	}
}

func (c *session) listDefinitions(pattern string) {
	all := c.user.definitions()
	shown := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(name, pattern) || strings.Contains(all[name], pattern) {
			c.say(name + " " + all[name])
			shown++
		}
	}
	if shown == 0 {
		c.say("nothing to show")
	}
}
