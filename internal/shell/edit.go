package shell

import "strings"

const keyTab = '\t'

// complete is the editor's callback: Tab completes the word before the cursor if exactly
// one command or definition begins with it.
func (c *session) complete(line string, at int, key rune) (string, int, bool) {
	if key != keyTab {
		return "", 0, false
	}
	begin := strings.LastIndexAny(line[:at], " ;") + 1
	var found []string
	for _, name := range c.names() {
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
