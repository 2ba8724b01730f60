package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// jobCommands are the commands for the queue and its jobs.
func jobCommands() []command {
	return []command{
		{name: "queue", args: "[rm ID | clear [all]]", short: "list the jobs of all sessions, or remove waiting ones", prepare: prepareQueue, look: alone,
			long: fmt.Sprintf(`Jobs run one at a time, in the order in which they were queued, whoever queued them; at
most %d wait. A job that fails or is cancelled does not stop the next one. Your session
shows the output of its jobs. If you leave, they go on, unless you quit --cancel. After a
restart of the server, waiting jobs keep their turns; a job that ran is not run again.
queue rm 7 removes the waiting job 7. queue clear removes the waiting jobs of this
session, and the list of jobs that a restart interrupted; queue clear all also removes
the waiting jobs of other sessions, and tells them. Where a user has the role admin, only
admins remove the jobs of other users. cancel stops a running job.`, maxWaiting)},
		{name: "cancel", args: "[ID]", short: "stop the running job of this session, with its report; again: at once", prepare: prepareCancel,
			long: `cancel 7 stops or removes job 7, also that of another session, and tells that session who did
it. Where a user has the role admin, only admins end the jobs of other users.`},
		{name: "attach", args: "[ID]", short: "show a job's output from now on, until Ctrl-C", prepare: prepareAttach, look: always, typed: true},
		{name: "log", args: "[ID]", short: "show what a job has written so far", prepare: prepareLog, look: always,
			long: fmt.Sprintf("Without ID: the running job, or else the last one. takt keeps the logs of the last %d\njobs for at most %d days, also after a restart, and at most %d MiB of each.", maxSaved, int(maxSavedAge.Hours()/24), maxLog>>20)},
	}
}

// oneID reads at most one job number; it returns 0 for no words.
func oneID(args []string) (int, error) {
	if len(args) == 0 {
		return 0, nil
	}
	id, err := strconv.Atoi(args[0])
	if err != nil || id <= 0 || len(args) > 1 {
		return 0, fmt.Errorf("%q is not a job number; queue lists the jobs", strings.Join(args, " "))
	}
	return id, nil
}

func prepareQueue(_ *session, args []string) (action, error) {
	switch {
	case len(args) == 0:
		return action{now: (*session).listQueue}, nil
	case args[0] == "clear" && len(args) == 1:
		return action{now: func(c *session) { c.clearQueue(false) }}, nil
	case args[0] == "clear" && len(args) == 2 && args[1] == "all":
		return action{now: func(c *session) { c.clearQueue(true) }}, nil
	case args[0] == "rm" && len(args) == 2:
		id, err := oneID(args[1:])
		return action{now: func(c *session) { c.answer(c.server.queue.remove(c, id)) }}, err
	}
	return action{}, errors.New("write queue, queue rm ID, queue clear or queue clear all")
}

// answer says the text, or the error if there is one.
func (c *session) answer(text string, err error) {
	if err != nil {
		c.fail(err)
		return
	}
	c.say(text)
}

func (c *session) clearQueue(all bool) {
	n := c.server.queue.clear(c, all)
	c.say(count(n.jobs, "job") + " removed")
	if n.others > 0 {
		c.say(fmt.Sprintf("%s of other sessions left; queue clear all removes %s too", count(n.others, "job"), itThem(n.others)))
	}
	if n.kept > 0 {
		text := fmt.Sprintf("%s of other users left; only admins may remove %s", count(n.kept, "job"), itThem(n.kept))
		c.say(text)
		_ = c.note(eventCommand, 0, "queue clear", "refused: "+text) // may fail: the jobs are left
	}
	if n.interrupted > 0 {
		c.say(count(n.interrupted, "interrupted job") + " forgotten")
	}
}

// count says how many of a thing there are: 1 job, 2 jobs.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// itThem is the pronoun for n things.
func itThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func (c *session) listQueue() {
	current, line, lost := c.server.queue.list()
	if current == nil && len(line)+len(lost) == 0 {
		c.say("the queue is empty")
		c.sayShared()
		c.warn()
		return
	}
	c.listJobs(current, line, lost)
}

func (c *session) listJobs(current *entry, line []entry, lost []view) {
	if current != nil {
		c.say(fmt.Sprintf("running  job %d of %s, for %v: %s", current.id, current.owner, current.runs.Round(time.Second), current.shown))
	}
	for i, e := range line {
		c.say(fmt.Sprintf("%7d  job %d of %s: %s", i+1, e.id, e.owner, e.shown))
	}
	for _, v := range lost {
		c.say(lostLine(v))
	}
	c.sayShared()
	c.warn()
}

// sayShared says that another server has the jobs of the folder, which a user may miss here.
func (c *session) sayShared() {
	if c.server.state.shared {
		c.say("warning: another takt server of this user runs, and has the saved jobs: this server does not know them, and its own jobs end with it")
	}
}

// lostLine describes a job that a restart has interrupted.
func lostLine(v view) string {
	text := fmt.Sprintf("interrupted by a restart: job %d of %s: %s", v.ID, v.User, v.Command)
	switch {
	case v.Began == nil:
		return fmt.Sprintf("%s (not run: %s)", text, v.Reason)
	case len(v.Reports) == 0:
		return text + " (no report)"
	}
	return fmt.Sprintf("%s (its report: show %s; a run of less than a second has none)", text, v.Reports[len(v.Reports)-1])
}

func prepareCancel(_ *session, args []string) (action, error) {
	id, err := oneID(args)
	return action{now: func(c *session) { c.answer(c.server.queue.cancel(c, id)) }}, err
}

func prepareAttach(_ *session, args []string) (action, error) {
	id, err := oneID(args)
	return action{now: func(c *session) {
		j := c.job(id)
		switch {
		case j == nil:
		case j.log.read(j.log.end()).ended:
			c.fail(fmt.Errorf("job %d has ended; log %d shows what it wrote", j.id, j.id))
		default:
			c.attach(j, j.log.end())
		}
	}}, err
}

func prepareLog(_ *session, args []string) (action, error) {
	id, err := oneID(args)
	return action{now: func(c *session) {
		if j := c.job(id); j != nil {
			c.showLog(j)
		}
	}}, err
}

// job finds a job as queue.find does, or says that there is none.
func (c *session) job(id int) *job {
	j := c.server.queue.find(id)
	switch {
	case j == nil && id == 0:
		c.fail(errors.New("no job has run yet"))
	case j == nil:
		c.fail(unknownJob(id))
	}
	return j
}

func unknownJob(id int) error {
	return fmt.Errorf("job %d is unknown, or older than the last %d jobs, whose logs takt keeps", id, maxSaved)
}

// showLog writes what the log contains now.
func (c *session) showLog(j *job) {
	for at, end := int64(0), j.log.end(); at < end && !c.broken.Load(); {
		p := j.log.read(at)
		c.write(p.text)
		at = p.next
	}
}
