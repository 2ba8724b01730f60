package shell

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/taktload/takt/internal/door"
)

// sessionCommands are the commands for the session itself.
func sessionCommands() []command {
	return []command{
		{name: "help", args: "[COMMAND [all]]", short: "list the commands, or explain one", prepare: prepareHelp, look: always,
			long: "help COMMAND all shows all flags of a command. help look and help admin say what these roles may do."},
		{name: "status", args: "[-w]", short: "what runs, what waits, and what is loaded", prepare: prepareStatus, look: always,
			long: `The first lines are the cluster with its health and its documents of apm-server, and the
server under test with its branch and revision; then the store of reports, the names of
targets and folders, and the queue.
status -w shows the running load every second, until Enter or Ctrl-C; the job goes on.
After edit on it has colours.`},
		{name: "words", short: "what Tab can complete, a word a line, for rlwrap -f", look: always,
			prepare: do(func(c *session) { c.say(strings.Join(c.everyWord(), "\n")) })},
		{name: "edit", args: "on|off", short: "let the server do the editing: arrow keys, history, Ctrl-C", prepare: prepareEdit, look: always, typed: true,
			long: "With edit off your client edits the line, as rlwrap telnet does. edit on is for a plain telnet."},
		{name: "auth", args: "TOKEN", short: "say who you are: the first line, if the server has tokens", prepare: prepareAuth, look: always},
		{name: "quit", args: "[--cancel]", short: "leave; your jobs continue, unless --cancel ends them", prepare: prepareQuit, look: always},
		{name: "exit", args: "[--cancel]", short: "= quit", prepare: prepareQuit, look: always},
	}
}

func prepareEdit(_ *session, args []string) (action, error) {
	if len(args) != 1 || args[0] != "on" && args[0] != "off" {
		return action{}, errors.New("write edit on or edit off")
	}
	return action{now: func(c *session) { c.edit(args[0] == "on") }}, nil
}

func prepareAuth(c *session, args []string) (action, error) {
	if own := c.token; own != nil && len(args) > 0 {
		if t := c.server.tokenList().Find(strings.Join(args, " ")); t == nil || !own.Is(t) { // the answer does not tell whose it is
			return action{secret: true, shown: "auth"}, denied("this session is that of %s; to be another user, begin another session", c.user.name)
		}
	}
	return action{secret: true, shown: "auth", now: func(c *session) { c.say("you are " + c.user.name + roleNote(c.role)) }}, nil
}

// roleNote names a role; the default role needs no note.
func roleNote(r door.Role) string {
	if r == door.RoleRun {
		return ""
	}
	return ", with the role " + string(r)
}

func prepareQuit(_ *session, args []string) (action, error) {
	cancel := len(args) == 1 && args[0] == "--cancel"
	if len(args) > 0 && !cancel {
		return action{}, fmt.Errorf("it accepts only --cancel, not %q", strings.Join(args, " "))
	}
	return action{now: func(c *session) {
		if cancel {
			c.server.queue.cancelOf(c)
		}
		c.say("bye!")
		c.ending = true
	}}, nil
}

func prepareHelp(c *session, args []string) (action, error) {
	if len(args) == 0 {
		return action{now: (*session).listCommands}, nil
	}
	if args[0] == "apm-load" { // help apm explains the shell's own apm
		return helpNow(append([]string{"apm"}, args[1:]...)), nil
	}
	cmd, ok := find(args[0])
	switch {
	case args[0] == string(door.RoleAdmin):
		return action{now: func(c *session) { c.say(adminHelp) }}, nil
	case args[0] == string(door.RoleLook):
		return action{now: func(c *session) { c.say(lookHelp) }}, nil
	case !ok:
		return action{}, unknown(args[0])
	case cmd.isTakt():
		return helpNow(args), nil
	}
	return action{now: func(c *session) {
		c.say(strings.TrimSpace("usage: "+cmd.name+" "+cmd.args) + "\n" + cmd.short)
		if cmd.long != "" {
			c.say(cmd.long)
		}
	}}, nil
}

const adminHelp = `Users with the role admin may also end jobs of other users, see the audit log (audit) and
read the token file and the team file again (reload). Where a token has this role, users
with the role run can end only their own jobs.`

const lookHelp = `Users with the role look may only read: help, words, status, queue, attach, log, runs,
show, history, collate, compare, verify without --, apm list and apm tail, auth, edit and quit.
They cannot write files, or start, stop or choose anything.`

func (c *session) listCommands() {
	c.say(Help())
}

// usageWidth is the width of the column of commands in the list; longer ones have a line of their own.
const usageWidth = 34

// Help lists the commands, a line each, and says how lines are read.
func Help() string {
	var b strings.Builder
	for _, cmd := range commands() {
		usage := strings.TrimSpace(cmd.name + " " + cmd.args)
		if utf8.RuneCountInString(usage) > usageWidth {
			fmt.Fprintf(&b, "  %s\n", usage)
			usage = ""
		}
		fmt.Fprintf(&b, "  %-*s %s\n", usageWidth, usage, cmd.short)
	}
	b.WriteString(`
help COMMAND explains one, help COMMAND all shows all its flags. ; separates commands on
one line; if one of them is wrong, none runs. 'quotes' and "quotes" keep words together;
# begins a comment. @NAME is the URL of a target that the server names; status lists the
names. define gives words a name, and $ is replaced by words of the line: help define.
Loads, apm switch and elasticsearch reset wait in one queue for all sessions: help queue;
everything else runs at once. help collate explains filters and sorting. File names are
relative to the server's folder for files.`)
	return b.String()
}
