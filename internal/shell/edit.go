package shell

import (
	"slices"
	"strings"
)

const keyTab = '\t'

// complete is the editor's callback: Tab completes the word before the cursor if exactly
// one command, definition or flag of the command before it begins with it.
func (c *session) complete(line string, at int, key rune) (string, int, bool) {
	if key != keyTab {
		return "", 0, false
	}
	begin := strings.LastIndexAny(line[:at], " ;") + 1
	var found []string
	for _, name := range c.words(line[:begin], line[begin:at]) {
		if strings.HasPrefix(name, line[begin:at]) {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return line, at, true
	}
	text := line[:begin] + found[0] + " "
	return text + line[at:], len(text), true
}

// words are what may stand at a place of a line: flags for a word that begins with a dash.
func (c *session) words(before, word string) []string {
	if !strings.HasPrefix(word, "-") {
		return c.names()
	}
	return c.server.host.flagsOf(strings.Fields(before[strings.LastIndex(before, separator)+1:]))
}

// flagsOf lists the flags of the command that a line begins with.
func (h Host) flagsOf(line []string) []string {
	if h.Flags == nil || len(line) == 0 {
		return nil
	}
	return h.Flags(line)
}

// everyWord lists what a client such as rlwrap -f can complete: commands, definitions, and the
// flags of all commands.
func (c *session) everyWord() []string {
	list := c.names()
	for _, cmd := range taktCommands() {
		list = append(list, c.server.host.flagsOf([]string{cmd.name})...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// names are the commands and the user's definitions.
func (c *session) names() (list []string) {
	for _, cmd := range commands() {
		list = append(list, cmd.name)
	}
	for name := range c.user.definitions() {
		list = append(list, name)
	}
	return list
}
