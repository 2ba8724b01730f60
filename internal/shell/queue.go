package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/taktload/takt/internal/door"
)

// Limits of the queue: waiting jobs, and ended or removed jobs whose logs are kept.
const (
	maxWaiting = 1000
	maxEnded   = 20
)

// task is the work of a job. It writes to the log and returns an exit code.
type task func(ctx context.Context, abort <-chan struct{}, log *log) int

// job is one command that waits for its turn, runs, or has ended.
type job struct {
	id    int
	from  *session  // the session that queued the job
	owner string    // its user
	role  door.Role // of the user when the job was queued
	shown string    // the command, without secrets
	task  task
	log   *log     // nil: in its file only
	words []string // to run the job again after a restart; nil: it is not run again

	// Protected by the queue's lock:
	state  jobState
	queued time.Time
	began  time.Time
	ended  time.Time
	code   int
	cancel context.CancelCauseFunc
	abort  chan struct{}
	stops  int      // how often the job was told to stop
	runs   []string // ids of the reports of its runs
	reason string   // why a restart interrupts or interrupted the job
}

type jobState string

const (
	waiting jobState = "waiting"
	running jobState = "running"
	done    jobState = "done"
	removed jobState = "removed"
	// interrupted jobs ran or waited when an earlier server ended, and are not run again.
	interrupted jobState = "interrupted"
)

// errCancelled is the cause with which cancel, quit --cancel and the server's end stop a job.
var errCancelled = errors.New("cancelled")

// Why the queue accepts no job.
var (
	errEnding = errors.New("the server is ending and accepts no more jobs")
	errFull   = fmt.Errorf("the queue is full with %d jobs; wait, or queue rm some", maxWaiting)
)

// maxRuns limits the runs of a job whose ids are kept: the newest.
const maxRuns = 1000

// queue runs the jobs of all sessions, one at a time.
type queue struct {
	ctx     context.Context // ends with the server
	jobs    sync.WaitGroup
	dir     string                // folder of the jobs' output; "": it ends with the server
	changed func(savedJobs) error // saves all jobs, at every change
	mu      sync.Mutex
	last    int // the newest id
	current *job
	line    []*job // in the order of their turns
	past    []*job // ended or removed, the newest last
	lost    []*job // interrupted by a restart
	unsaved error  // the jobs could not be saved
	closed  bool
}

func newQueue(ctx context.Context, dir string, changed func(savedJobs) error) *queue {
	return &queue{ctx: ctx, dir: dir, changed: changed}
}

// add puts a job at the end of the queue, and starts the job if nothing else runs. It
// returns how many jobs are before it.
func (q *queue) add(from *session, a action) (j *job, before int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return nil, 0, errEnding
	case len(q.line) >= maxWaiting:
		return nil, 0, errFull
	}
	q.last++
	j = &job{id: q.last, from: from, owner: from.user.name, role: from.role, shown: a.shown, task: a.task, state: waiting, queued: time.Now()}
	if j.words, err = from.again(a); err != nil {
		j.reason = err.Error()
	}
	q.open(j)
	before = len(q.line)
	if q.current != nil {
		before++
	}
	q.line = append(q.line, j)
	q.startNext()
	return j, before, nil
}

// startNext starts the first job that waits, if none runs, and saves all jobs. The job begins only
// when the file says that it runs: a server that is killed at its beginning would run it again after
// a restart. The lock is held.
func (q *queue) startNext() {
	if q.current != nil || len(q.line) == 0 || q.closed {
		q.save()
		return
	}
	j := q.line[0]
	q.line = q.line[1:]
	q.current = j
	ctx, cancel := context.WithCancelCause(q.ctx)
	j.state, j.began, j.cancel, j.abort = running, time.Now(), cancel, make(chan struct{})
	q.save()
	q.jobs.Go(func() {
		_ = j.from.noteAs(j.role, eventJob, j.id, j.shown, "begins") // may fail: the log has the command already
		code := j.task(ctx, j.abort, j.log)
		q.finish(j, code)
		cancel(nil)
	})
}

// finish starts the next job before it closes this job's log, so whoever waits for the end
// finds the queue moved on.
func (q *queue) finish(j *job, code int) {
	q.mu.Lock()
	j.state, j.ended, j.code = done, time.Now(), code
	outcome := j.outcome()
	fmt.Fprintln(j.log, outcome)
	q.current = nil
	q.keep(j)
	q.startNext()
	q.mu.Unlock()
	_ = j.from.noteAs(j.role, eventJob, j.id, j.shown, outcome)
	j.log.close()
}

// begins adds a run that the job begins.
func (q *queue) begins(j *job, run string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j.runs = append(j.runs, run)
	j.runs = j.runs[max(0, len(j.runs)-maxRuns):]
	q.save()
}

// outcome is the last line of a job's log.
func (j *job) outcome() string {
	took := j.ended.Sub(j.began).Round(100 * time.Millisecond)
	switch {
	case j.stops > 0:
		return fmt.Sprintf("job %d was cancelled after %v, exit code %d", j.id, took, j.code)
	case j.code != 0:
		return fmt.Sprintf("job %d ended after %v with exit code %d", j.id, took, j.code)
	}
	return fmt.Sprintf("job %d done in %v", j.id, took)
}

func (q *queue) keep(j *job) {
	j.reason = ""
	q.past = append(q.past, j)
	q.prune()
}

// save saves all jobs. The lock is held, so what is saved last is what is true. A full disk costs
// the list after a restart, no job.
func (q *queue) save() { q.unsaved = q.changed(q.saving()) }

// warning says that the jobs are not saved; "": they are.
func (q *queue) warning() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unsaved == nil {
		return ""
	}
	return fmt.Sprintf("warning: the queue cannot be saved: %v; if the server ends, waiting jobs are lost", withoutPath(q.unsaved))
}

// cancel stops the running job with that id, gracefully the first time and at once the
// second, or removes a waiting one. An id of 0 is the running job, if it is this session's.
func (q *queue) cancel(by *session, id int) (string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.current
	switch {
	case id == 0 && (j == nil || !by.queuedIt(j)):
		return "", q.nothingOf(by)
	case j == nil || id != 0 && id != j.id:
		return q.drop(by, id)
	}
	if err := by.mayEnd(j); err != nil {
		return "", err
	}
	if j.stops++; j.stops == 1 {
		j.cancel(errCancelled)
		return q.told(by, j, "told to stop", fmt.Sprintf("; cancel %sagain to end it at once", j.nameFor(by))), nil
	}
	if j.stops == 2 {
		close(j.abort)
	}
	return q.told(by, j, "ended at once", ""), nil
}

// nothingOf says why there is nothing to cancel, and which job the user may mean. The lock
// is held.
func (q *queue) nothingOf(by *session) error {
	if i := slices.IndexFunc(q.line, func(j *job) bool { return by.queuedIt(j) }); i >= 0 {
		return fmt.Errorf("no job of this session is running; its job %d waits: cancel %d removes it", q.line[i].id, q.line[i].id)
	}
	if j := q.current; j != nil {
		return fmt.Errorf("no job of this session is running; job %d belongs to another session, of %s: cancel %d stops it and tells that session", j.id, j.owner, j.id)
	}
	return errors.New("nothing runs")
}

// nameFor is the argument with which by cancels this running job.
func (j *job) nameFor(by *session) string {
	if by.queuedIt(j) {
		return ""
	}
	return fmt.Sprintf("%d ", j.id)
}

// told returns the answer for by, who did something to a job. It also tells the job's own
// session, if that is another one, and everyone who follows the job. The lock is held.
func (q *queue) told(by *session, j *job, what, hint string) string {
	if by.queuedIt(j) {
		return fmt.Sprintf("job %d is %s%s", j.id, what, hint)
	}
	text := fmt.Sprintf("job %d is %s by %s", j.id, what, by.who())
	fmt.Fprintln(j.log, text)
	j.from.tell(notice{j, text})
	return fmt.Sprintf("job %d of %s is %s, and that session is told who did it%s", j.id, j.owner, what, hint)
}

// queuedIt reports whether a job is this session's. The requests of a user to the API count as one
// session, which has the user's jobs of before a restart, too.
func (c *session) queuedIt(j *job) bool {
	return j.from == c || c.sink != nil && j.from != nil && j.from.sink != nil && j.owner == c.user.name
}

// who names a session to others.
func (c *session) who() string {
	return fmt.Sprintf("%s, in session %d from %s", c.user.name, c.number, c.from)
}

// remove removes a waiting job from the queue.
func (q *queue) remove(by *session, id int) (string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.current != nil && q.current.id == id {
		if err := by.mayEnd(q.current); err != nil {
			return "", err
		}
		return "", fmt.Errorf("job %d runs already; cancel it", id)
	}
	return q.drop(by, id)
}

// cancelOf stops and removes all jobs of a session.
func (q *queue) cancelOf(c *session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range slices.Clone(q.line) {
		if c.queuedIt(j) {
			_, _ = q.drop(c, j.id) // never fails: j waits, and the lock is held
		}
	}
	if j := q.current; j != nil && c.queuedIt(j) && j.stops == 0 {
		j.stops++
		j.cancel(errCancelled)
	}
}

// drop removes the waiting job with that id. The lock is held.
func (q *queue) drop(by *session, id int) (string, error) {
	i := slices.IndexFunc(q.line, func(j *job) bool { return j.id == id })
	if i < 0 {
		return "", fmt.Errorf("no job %d waits or runs; queue lists those that do", id)
	}
	if err := by.mayEnd(q.line[i]); err != nil {
		return "", err
	}
	text := q.forget(by, q.line[i])
	q.line = slices.Delete(q.line, i, i+1)
	q.save()
	return text, nil
}

// forget ends a job that never ran. The lock is held.
func (q *queue) forget(by *session, j *job) (answer string) {
	j.state = removed
	answer = q.told(by, j, "removed", "")
	fmt.Fprintf(j.log, "job %d was removed before its turn\n", j.id)
	j.log.close()
	q.keep(j)
	return answer
}

// cleared is what clear did.
type cleared struct {
	jobs        int // removed
	others      int // left, as they are of other sessions
	kept        int // left, as they are of other users, and the session may not end them
	interrupted int // forgotten
}

// clear removes the waiting jobs of a session, or of all, and the list of interrupted jobs.
func (q *queue) clear(by *session, all bool) (n cleared) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var left []*job
	for _, j := range q.line {
		switch {
		case by.mayEnd(j) != nil:
			n.kept++
		case !all && !by.queuedIt(j):
			n.others++
		default:
			q.forget(by, j)
			n.jobs++
			continue
		}
		left = append(left, j)
	}
	var lost []*job
	for _, j := range q.lost {
		if by.mayEnd(j) != nil {
			lost = append(lost, j)
			continue
		}
		q.past = append(q.past, j)
		n.interrupted++
	}
	q.line, q.lost = left, lost
	q.prune()
	q.save()
	return n
}

// find returns the job with that id, or nil if its log is no longer kept. An id of 0 is
// the running job, or else the one that ended or was removed last.
func (q *queue) find(id int) *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	if id == 0 && q.current != nil {
		return q.current
	}
	if j := q.known(id); j != nil {
		return q.withLog(j)
	}
	if id == 0 && len(q.past) > 0 {
		return q.withLog(q.past[len(q.past)-1])
	}
	return nil
}

// entry is a job as it is listed.
type entry struct {
	id           int
	owner, shown string
	runs         time.Duration // since the job began
}

// list returns the running job or nil, the waiting jobs, and the jobs that a restart has
// interrupted.
func (q *queue) list() (current *entry, line []entry, lost []view) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j := q.current; j != nil {
		current = &entry{j.id, j.owner, j.shown, time.Since(j.began)}
	}
	for _, j := range q.line {
		line = append(line, entry{id: j.id, owner: j.owner, shown: j.shown})
	}
	for _, j := range q.lost {
		lost = append(lost, q.seen(j))
	}
	return current, line, lost
}

// running returns the running job; nil: none.
func (q *queue) running() *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.current
}

// over reports whether the job has ended.
func (q *queue) over(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return j.state == done || j.state == removed || j.state == interrupted
}

// begun reports whether the job no longer waits.
func (q *queue) begun(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return j.state != waiting
}

// close stops the running job gracefully, and starts no other. The saved list stays as it
// is: the next server lists the running job as interrupted, and runs the waiting ones.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed = func(savedJobs) error { return q.unsaved }
	if j := q.current; j != nil && j.stops == 0 {
		j.stops++
		j.cancel(errCancelled)
	}
	for _, j := range q.line {
		fmt.Fprintln(j.log, j.farewell())
		j.log.close()
	}
}

// farewell is the last line of a waiting job of a server that ends.
func (j *job) farewell() string {
	if j.words == nil {
		return fmt.Sprintf("job %d was not run: the server ends", j.id)
	}
	return fmt.Sprintf("job %d waits: the server ends, and runs it after its restart", j.id)
}

// kill ends the running job at once.
func (q *queue) kill() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j := q.current; j != nil && j.stops < 2 {
		j.stops = 2
		j.cancel(errCancelled)
		close(j.abort)
	}
}
