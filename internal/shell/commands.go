package shell

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/value"
)

// command is a row of the table of commands.
type command struct {
	name  string
	args  string // as help shows the arguments
	short string
	long  string // explains args; "": short is enough, or takt's own help explains the command
	// prepare checks the words after the name and returns the action. It changes nothing:
	// if another command of the line is wrong, no command runs.
	prepare func(c *session, args []string) (action, error)
	// look reports whether the role look may run the command with these words; nil: never.
	look func(args []string) bool
	// typed commands need somebody who reads and types; the API has none.
	typed bool
	// admin commands are for the role admin and the owner's own sessions.
	admin bool
}

// always is the look of commands that only read, whatever their words.
func always([]string) bool { return true }

// alone is the look of commands that only read if they have no words.
func alone(args []string) bool { return len(args) == 0 }

// action is what a command will do: now, or as a task in the queue.
type action struct {
	name   string // of the command
	now    func(c *session)
	task   task
	queued func(c *session) (task, error) // makes the task, after the commands before it on the line
	shown  string                         // the command, without secrets
	secret bool                           // the words contain a secret
	words  []string                       // with which a restarted server can run the job again; nil: it cannot

	harmless bool // only reads, or is cancel: runs even while the audit log cannot be written
}

// commands is the table of all commands, in the order of help.
func commands() []command {
	return slices.Concat(sessionCommands(), jobCommands(), defineCommands(), benchCommands(), taktCommands(), adminCommands())
}

func find(name string) (command, bool) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// do is the prepare of a command that accepts no words.
func do(now func(*session)) func(*session, []string) (action, error) {
	return func(_ *session, args []string) (action, error) {
		if len(args) > 0 {
			return action{}, fmt.Errorf("it accepts no arguments; leave out %q", strings.Join(args, " "))
		}
		return action{now: now}, nil
	}
}

// execute runs a line. If one command of the line is wrong, none runs.
func (c *session) execute(line string) {
	if actions, err := c.understand(line); err == nil {
		c.performAll(actions)
	}
}

// understand checks a line, and says what is wrong with it.
func (c *session) understand(line string) ([]action, error) {
	if !c.refresh() {
		c.refuse(nil, errGone)
		c.fail(errGone)
		c.ending = true
		return nil, errGone
	}
	actions, err := c.prepareLine(line)
	if !slices.ContainsFunc(actions, func(a action) bool { return a.secret }) {
		c.remember(line, err == nil)
	}
	if err != nil {
		c.refuse(namesOf(actions), err)
		c.fail(err)
	}
	return actions, c.seenError(err)
}

// performAll runs the commands of a line in order.
func (c *session) performAll(actions []action) {
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

// namesOf lists the commands of a line by name, "?" for an unknown command.
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
		if c.role == door.RoleLook {
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
	if c.role == door.RoleLook && !looks {
		return action{name: cmd.name}, prefixed(cmd.name, errLook)
	}
	if cmd.admin && c.role != door.RoleAdmin && !c.own {
		return action{name: cmd.name}, prefixed(cmd.name, errAdmin)
	}
	if c.sink != nil && cmd.typed {
		return action{name: cmd.name}, prefixed(cmd.name, errTyped)
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

// errLook refuses a command to the role look.
const errLook = Denied("your role is look, which may not do this; see help look")

var errGone = denied("your token is not valid any more; ask the server's owner for one")

var errTyped = errors.New("this command needs a session by telnet; GET /v1/jobs/ID/events follows a job")

// prefixed puts the command's name before each line of err.
func prefixed(name string, err error) error { return &prefixedError{name, err} }

type prefixedError struct {
	name string
	err  error
}

// Error implements error.
func (p *prefixedError) Error() string {
	return p.name + ": " + strings.ReplaceAll(p.err.Error(), "\n", "\n"+p.name+": ")
}

// Unwrap returns the error without the command's name.
func (p *prefixedError) Unwrap() error { return p.err }

func unknown(name string) error {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	if near := value.Nearest(name, names, 2); near != "" {
		return fmt.Errorf("unknown command %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("unknown command %q; use one of %s", name, strings.Join(names, ", "))
}

// perform runs one command of a line, or puts it into the queue.
func (c *session) perform(a action) {
	if a.queued != nil {
		var err error
		if a.task, err = a.queued(c); err != nil {
			c.failed(a, err)
			return
		}
	}
	if a.task == nil {
		c.fault = nil
		a.now(c)
		if c.fault != nil {
			c.noteFault(a)
		}
		return
	}
	j, before, err := c.server.queue.add(c, a)
	switch {
	case err != nil:
		c.failed(a, err)
		return
	case before == 0:
		c.say(fmt.Sprintf("job %d: %s", j.id, a.shown))
	default:
		c.say(fmt.Sprintf("job %d: %s (queued, %d before it)", j.id, a.shown, before))
	}
	c.attach(j, 0)
	c.warn()
}

// failed says why a command that was allowed did not run.
func (c *session) failed(a action, err error) {
	c.fail(err)
	c.noteFault(a)
}

// noteFault logs the error of a command.
func (c *session) noteFault(a action) {
	_ = c.note(eventCommand, 0, a.shown, outcomeOf(c.fault, "failed")) // may fail: the log has "allowed" already
}

// warn says that jobs are not saved.
func (c *session) warn() {
	if text := c.server.queue.warning(); text != "" {
		c.say(text)
	}
}

// remember adds a line to this session's history, and a valid line to the stored history
// too. An invalid line may contain a secret that takt did not recognise.
func (c *session) remember(line string, right bool) {
	if strings.TrimSpace(line) == "" {
		return
	}
	c.recent.lines = added(c.recent.lines, line)
	if right {
		_ = c.user.remember(line) // a full disk costs only the history: no reason to fail the command
	}
}
