package shell

import (
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
}

// action is what a command will do: now, or as a task in the queue.
type action struct {
	now    func(c *session)
	task   task
	queued func(c *session) (task, error) // makes the task when the commands before it are done
	shown  string                         // the command, without secrets
	secret bool                           // the line has some
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
		c.fail(err)
		return
	}
	for _, a := range actions {
		if c.ending || c.broken.Load() {
			return
		}
		c.perform(a)
	}
}

func (c *session) prepareLine(line string) (actions []action, err error) {
	if strings.HasPrefix(strings.TrimSpace(line), "#") {
		return nil, nil
	}
	if isDefine(line) {
		a, err := c.prepareDefinition(line)
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
	a, err := cmd.prepare(c, words[1:])
	if err != nil {
		return a, prefixed(cmd.name, err)
	}
	if a.shown == "" {
		a.shown = join(words)
	}
	return a, nil
}

// prefixed names the command in each of its faults.
func prefixed(name string, err error) error {
	var lines []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		lines = append(lines, errors.New(name+": "+line))
	}
	return errors.Join(lines...)
}

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
			c.fail(err)
			return
		}
	}
	if a.task == nil {
		a.now(c)
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
