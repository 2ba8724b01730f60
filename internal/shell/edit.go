package shell

import "strings"

const keyTab = '\t'

// complete is for the editor: Tab completes a command or a definition, if only one
// begins so.
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

// names are all that a line may begin with.
func (c *session) names() (list []string) {
	for _, cmd := range commands() {
		list = append(list, cmd.name)
	}
	for name := range c.user.definitions() {
		list = append(list, name)
	}
	return list
}
