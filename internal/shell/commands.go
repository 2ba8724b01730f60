package shell

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// command is one word of the shell.
type command struct {
	name  string
	args  string // as help shows them
	short string
	long  string // with an example; "": short says it all, or takt's own help does
	// prepare checks the words behind the name and says what they will do. It changes
	// nothing: if another command of the line is wrong, none runs.
	prepare func(c *session, args []string) (action, error)
	// look reports whether the role look may do it with these words; nil: it may not.
	look func(args []string) bool
}

// always is for commands that only look, whatever their words.
func always([]string) bool { return true }

// alone is for those that only look without words.
func alone(args []string) bool { return len(args) == 0 }

// action is what a command will do: now, or as a task in the queue.
type action struct {
	name   string // of the command
	now    func(c *session)
	task   task
	queued func(c *session) (task, error) // makes the task when the commands before it are done
	shown  string                         // the command, without secrets
	secret bool                           // the line has some

	harmless bool // it changes nothing, or ends something
}

// commands is the table of all commands, in the order of help.
func commands() []command {
	return slices.Concat(sessionCommands(), jobCommands(), defineCommands(), benchCommands(), taktCommands())
}

func find(name string) (command, bool) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// do is an action without words that could be wrong.
func do(now func(*session)) func(*session, []string) (action, error) {
	return func(_ *session, args []string) (action, error) {
		if len(args) > 0 {
			return action{}, fmt.Errorf("it takes no %q", strings.Join(args, " "))
		}
		return action{now: now}, nil
	}
}

// execute runs a line. If a part of it is wrong, nothing of it runs.
func (c *session) execute(line string) {
	actions, err := c.prepareLine(line)
	if !slices.ContainsFunc(actions, func(a action) bool { return a.secret }) {
		c.remember(line, err == nil)
	}
	if err != nil {
		c.refuse(namesOf(actions), err)
		c.fail(err)
		return
	}
	for _, a := range actions {
		if c.ending || c.broken.Load() {
			return
		}
		if err := c.allow(a); err != nil {
			c.fail(err)
			return
		}
		c.perform(a)
	}
}

// namesOf are the names of the commands of a line, "?" of those that are none.
func namesOf(actions []action) (names []string) {
	for _, a := range actions {
		names = append(names, cmp.Or(a.name, "?"))
	}
	return names
}

func (c *session) prepareLine(line string) (actions []action, err error) {
	if strings.HasPrefix(strings.TrimSpace(line), "#") {
		return nil, nil
	}
	if isDefine(line) {
		a, err := c.prepareDefinition(line)
		a.name, a.shown = "define", strings.TrimSpace(line)
		if c.role == roleLook {
			err = prefixed(a.name, errLook)
		}
		return []action{a}, err
	}
	parts, err := expand(line, c.user.definitions())
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, words := range parts {
		a, err := c.prepare(words)
		if err != nil {
			faults = append(faults, err)
		}
		actions = append(actions, a)
	}
	return actions, errors.Join(faults...)
}

func (c *session) prepare(words []string) (action, error) {
	cmd, ok := find(words[0])
	if !ok {
		return action{}, unknown(words[0])
	}
	looks := cmd.look != nil && cmd.look(words[1:])
	if c.role == roleLook && !looks {
		return action{name: cmd.name}, prefixed(cmd.name, errLook)
	}
	a, err := cmd.prepare(c, words[1:])
	a.name, a.harmless = cmd.name, looks || cmd.name == "cancel"
	if err != nil {
		return a, prefixed(cmd.name, err)
	}
	if a.shown == "" {
		a.shown = join(words)
	}
	return a, nil
}

// errLook is for what the role look may not do.
const errLook = Denied("your role is look, which may not do this; see help look")

// prefixed names the command in each of its faults.
func prefixed(name string, err error) error { return &prefixedError{name, err} }

type prefixedError struct {
	name string
	err  error
}

// Error implements error.
func (p *prefixedError) Error() string {
	return p.name + ": " + strings.ReplaceAll(p.err.Error(), "\n", "\n"+p.name+": ")
}

// Unwrap gives what was wrong.
func (p *prefixedError) Unwrap() error { return p.err }

func unknown(name string) error {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return fmt.Errorf("unknown command %q; use one of %s", name, strings.Join(names, ", "))
}

// perform runs one command of a line, or puts it into the queue.
func (c *session) perform(a action) {
	if a.queued != nil {
		var err error
		if a.task, err = a.queued(c); err != nil {
			c.refuse([]string{a.name}, err)
			c.fail(err)
			return
		}
	}
	if a.task == nil {
		c.failed = false
		a.now(c)
		if c.failed {
			_ = c.note(eventCommand, 0, a.shown, "failed") // that it was allowed is there already
		}
		return
	}
	j, before, err := c.server.queue.add(c, a.shown, a.task)
	switch {
	case err != nil:
		c.fail(err)
		return
	case before == 0:
		c.say(fmt.Sprintf("job %d: %s", j.id, a.shown))
	default:
		c.say(fmt.Sprintf("job %d: %s (queued, %d before it)", j.id, a.shown, before))
	}
	c.attach(j, 0)
}

// remember keeps a line for the arrow keys, and one that was right for later sessions
// too: of what was not understood nobody knows whether it has a secret.
func (c *session) remember(line string, right bool) {
	if strings.TrimSpace(line) == "" {
		return
	}
	c.recent.lines = added(c.recent.lines, line)
	if right {
		_ = c.user.remember(line) // a disk that is full costs the history, and nobody asked for it
	}
}
