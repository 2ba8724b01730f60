package shell

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/live"
)

// loadCommands are the commands of the protocols, from their rows. A command of the shell
// with the same name replaces one: the shell's apm does more.
func loadCommands(rows []driver.Row) (list []command) {
	for _, r := range rows {
		name, args, _ := strings.Cut(r.Use, " ")
		short, _, _ := strings.Cut(r.Short, ",")
		if r.Group == "" {
			list = append(list, command{name: name, args: strings.Replace(args, "[flags]", "[FLAGS]", 1), short: short})
			continue
		}
		i := slices.IndexFunc(list, func(c command) bool { return c.name == r.Group })
		if i < 0 {
			short, _, _ = strings.Cut(r.GroupShort, ":")
			list = append(list, command{name: r.Group, args: name + " …", short: "load " + short})
			continue
		}
		list[i].args = strings.TrimSuffix(list[i].args, " …") + "|" + name + " …"
	}
	return slices.DeleteFunc(list, func(c command) bool {
		return slices.ContainsFunc(benchCommands(), func(b command) bool { return b.name == c.name })
	})
}

// taktCommands are takt's own commands.
func taktCommands() []command {
	list := append(loadCommands(driver.Table()), []command{
		{name: "capacity", args: "--slo SLO … -- COMMAND", short: "find the highest rate that a target takes"},
		{name: "verify", args: "FILTER… | --pairs …", short: "decide whether a change made the thing under test slower"},
		{name: "history", args: "[FILTER…]", short: "find the revision that made the thing under test slower"},
		{name: "collate", args: "VARIABLE [FILTER…]", short: "see what one variable changes"},
		{name: "compare", args: "RUN RUN…", short: "two runs or more, side by side"},
		{name: "runs", args: "[FILTER…]", short: "list the runs that were kept"},
		{name: "show", args: "RUN", short: "show a report again"},
	}...)
	for i := range list {
		name := list[i].name
		if readsRuns(name) {
			list[i].look = func(args []string) bool { return !makesLoad(append([]string{name}, args...)) }
		}
		list[i].prepare = func(c *session, args []string) (action, error) {
			return prepareTakt(c, append([]string{name}, args...))
		}
	}
	return list
}

// readsRuns reports whether a command of takt reads stored runs. verify can also load, with
// a command after --.
func readsRuns(name string) bool {
	return slices.Contains([]string{"verify", "history", "collate", "compare", "runs", "show"}, name)
}

func (c command) isTakt() bool {
	return slices.ContainsFunc(taktCommands(), func(t command) bool { return t.name == c.name })
}

// makesLoad reports whether a command line of takt sends load, so that it has to wait in
// the queue. The others only read.
func makesLoad(args []string) bool {
	has := func(names ...string) bool {
		return slices.ContainsFunc(args, func(w string) bool { return slices.Contains(names, w) })
	}
	switch {
	case has("-h", "--help", "-help", "--help-all", "-help-all"):
		return false
	case args[0] == "verify" || args[0] == "capacity":
		return has("--") // a load follows
	}
	return !slices.Contains([]string{"history", "collate", "compare", "runs", "show", "help"}, args[0]) && !has("--dry-run", "--describe", "-describe", "--dump", "-dump")
}

func prepareTakt(c *session, args []string) (action, error) {
	targets := c.server.now().Targets
	resolved, named := targets.resolve(args)
	if makesLoad(args) {
		if w := unresolved(resolved); w != "" {
			return action{}, fmt.Errorf("there is no target %s; status lists the names", w)
		}
	}
	rules := c.rules()
	rules.Named = targets.secret(named)
	plan, err := c.server.host.Plan(resolved, rules)
	if err != nil {
		return action{secret: plan.Secret}, unnamed(err, rules.Named)
	}
	a := action{}
	for i, word := range plan.Shown { // sessions see the name of a target, not its URL
		if named[i] != "" {
			plan.Shown[i] = args[i]
		} else if word != resolved[i] {
			a.secret = true
		}
	}
	a.shown = join(plan.Shown)
	if makesLoad(args) {
		a.words = args
		a.queued = func(c *session) (task, error) { return c.task(resolved, plan), nil }
		return a, nil
	}
	a.now = func(c *session) { c.run(resolved, plan) }
	return a, nil
}

// helpAll matches how takt says that it has more flags.
var helpAll = regexp.MustCompile(`(?m)^takt (.+) --help-all lists`)

// helpNow returns the action that shows takt's help of a command, beside the queue.
func helpNow(args []string) action {
	return action{now: func(c *session) {
		var text bytes.Buffer
		c.runTo(append([]string{"help"}, args...), Plan{}, &text)
		name := "$1"
		if args[0] == "apm" {
			name = "apm-load" // help apm is another text
		}
		c.write(helpAll.ReplaceAll(text.Bytes(), []byte("help "+name+" all lists")))
	}}
}

// run runs a command that sends no load, and waits for it.
func (c *session) run(args []string, plan Plan) { c.runTo(args, plan, c.seenBy(c)) }

// runTo is run with another output.
func (c *session) runTo(args []string, plan Plan, out io.Writer) {
	call := c.call(args, plan)
	said := &live.Board{}
	said.OnRefused(func(why string) { _ = c.noteAs(c.role, eventCommand, 0, join(plan.Shown), "refused: "+why) }) // may fail: the log has the command already
	call.Out, call.Live = out, said
	code, err := c.wait(call)
	switch {
	case err != nil:
		c.fail(err)
	case code != 0:
		c.say(fmt.Sprintf("exit code %d", code))
	}
}

// wait runs a command line beside the queue, when there is a place for it.
func (c *session) wait(call Call) (code int, err error) {
	if err := c.ctx.Err(); err != nil { // select may choose a free place all the same
		return 0, err
	}
	select {
	case c.server.immediate <- struct{}{}:
		defer func() { <-c.server.immediate }()
	case <-c.ctx.Done():
		return 0, c.ctx.Err()
	}
	ctx, cancel := context.WithTimeout(c.ctx, immediateTime)
	defer cancel()
	abort := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(immediateGrace, func() { close(abort) }) })() // also when the server ends
	if code = c.server.host.Run(ctx, abort, call); ctx.Err() == context.DeadlineExceeded {
		return code, fmt.Errorf("it took longer than %v and was ended; does its store answer?", immediateTime)
	}
	return code, nil
}

// A store that never answers must not occupy one of the maxImmediate places for ever: the
// command gets SIGINT after immediateTime, and SIGKILL immediateGrace later.
const (
	immediateTime  = 2 * time.Minute
	immediateGrace = 5 * time.Second
)

// task returns the job that runs a command line.
func (c *session) task(args []string, plan Plan) task {
	call, run := c.call(args, plan), c.server.host.Run
	return func(ctx context.Context, abort <-chan struct{}, log *log) int {
		call.Out, call.Live, call.Reaches = c.seenBy(log), &log.live, c.server.now().reaches // at its turn
		return run(ctx, abort, call)
	}
}

// call returns a command line with the user's store.
func (c *session) call(args []string, plan Plan) Call {
	return Call{Args: args, Configs: plan.Configs, Reaches: c.server.now().reaches, Dir: c.server.options.DumpDir, Env: c.server.storeEnv(c.user.testbed.now().cluster, c.own), Plain: !c.own}
}

// rules are the limits for each command line of this session.
func (c *session) rules() Rules {
	return Rules{Allow: c.server.now().allow, Own: c.own, Look: c.role == door.RoleLook}
}
