package shell

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/door"
)

// Limits of the jobs that outlive the server, with their output.
const (
	maxSaved      = 200
	maxSavedBytes = 256 << 20
	maxSavedAge   = 30 * 24 * time.Hour
	// maxDown is how long a server may be down before its waiting jobs are not run again: nobody
	// expects a load of last week.
	maxDown = 24 * time.Hour
)

// savedJobs is the content of the file of jobs.
type savedJobs struct {
	Saved time.Time  `json:"saved"`
	Last  int        `json:"last"` // the newest id
	Jobs  []savedJob `json:"jobs"` // in the order in which they are listed
}

// savedJob is a job in the file. It has no secrets.
type savedJob struct {
	view
	Words []string `json:"words,omitempty"` // to run the job again; nil: it is not run again
	Own   bool     `json:"own,omitempty"`   // the session was the owner's own
	// Cleared says that queue clear removed the interrupted job from the list, or that the list was full.
	Cleared bool `json:"cleared,omitempty"`
}

// jobsFile is the file of jobs, jobsFolder that of their output.
const (
	jobsFile   = "jobs.json"
	jobsFolder = "jobs"
)

// errNotAgain says why a restarted server does not run a job again.
type errNotAgain string

// Error implements error.
func (e errNotAgain) Error() string { return string(e) }

const (
	notSecret  = errNotAgain("its command contains a secret, which takt does not save")
	notChoice  = errNotAgain("it depends on the server, revision or cluster that its session chose")
	notCluster = errNotAgain("its cluster has a password, which takt does not save")
	notLate    = errNotAgain("the server was down for more than a day")
	notUser    = errNotAgain("its user is not a user of this server")
)

// again returns the words with which a restarted server runs a job again, or why it does not.
func (c *session) again(a action) ([]string, error) {
	cluster := c.user.testbed.now().cluster
	switch {
	case a.secret:
		return nil, notSecret
	case a.words == nil:
		return nil, notChoice
	case c.server.options.Store == "" && cluster != nil && cluster.Output().Password != "":
		return nil, notCluster
	}
	return a.words, nil
}

// saving is the state of all jobs as it is saved. The lock is held.
func (q *queue) saving() savedJobs {
	s := savedJobs{Saved: time.Now().UTC(), Last: q.last}
	all := slices.Concat(q.lost, q.line)
	if q.current != nil {
		all = append([]*job{q.current}, all...)
	}
	for _, j := range all {
		s.Jobs = append(s.Jobs, q.savedJob(j))
	}
	for _, j := range q.past {
		one := q.savedJob(j)
		one.Cleared = j.state == interrupted
		s.Jobs = append(s.Jobs, one)
	}
	return s
}

func (q *queue) savedJob(j *job) savedJob {
	return savedJob{view: q.seen(j), Words: j.words, Own: j.from != nil && j.from.own}
}

// job is the job of a saved one, without its session and its task.
func (s *savedJob) job() *job {
	j := &job{id: s.ID, owner: s.User, shown: s.Command, words: s.Words, state: s.State, queued: s.Queued, reason: s.Reason, runs: s.Reports}
	if s.Began != nil {
		j.began = *s.Began
	}
	if s.Ended != nil {
		j.ended = *s.Ended
	}
	if s.ExitCode != nil {
		j.code = *s.ExitCode
	}
	if s.Cancelled {
		j.stops = 1
	}
	return j
}

// restore puts the jobs of an earlier server into the queue: those that waited wait again, in
// their order; the one that ran does not run again.
func (s *Server) restore() {
	q := s.queue
	old := s.state.jobs
	for _, one := range old.Jobs {
		j := one.job()
		switch j.state {
		case running:
			q.lose(j, "the server ended while it ran")
		case waiting:
			err := error(notLate)
			if time.Since(old.Saved) < maxDown {
				err = s.revive(j, &one)
			}
			if err != nil {
				q.lose(j, err.Error())
			}
		case interrupted:
			if !one.Cleared {
				q.lose(j, j.reason)
				continue
			}
			fallthrough
		default:
			q.past = append(q.past, j)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	slices.SortFunc(q.lost, func(a, b *job) int { return cmp.Compare(a.id, b.id) })
	q.last = max(q.last, old.Last)
	q.prune()
	q.sweep()
	q.startNext()
}

// lose adds a job that is not run again.
func (q *queue) lose(j *job, reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j.state, j.reason, j.words = interrupted, reason, nil
	q.lost = append(q.lost, j)
	if old := len(q.lost) - maxWaiting; old > 0 { // nobody has cleared the list for many restarts
		q.past = append(q.past, q.lost[:old]...)
		q.lost = q.lost[old:]
	}
}

// revive puts a job that waited into the queue again. It checks the command as if it had been
// typed now: tokens, roles and the server's flags may be others.
func (s *Server) revive(j *job, one *savedJob) error {
	if j.words == nil {
		return errNotAgain(cmp.Or(j.reason, string(notChoice)))
	}
	c, err := s.absent(j.owner, one.Own)
	if err != nil {
		return err
	}
	a, err := c.prepare(j.words)
	if err != nil || a.queued == nil {
		return errNotAgain(fmt.Sprintf("its command is not allowed now: %v", err))
	}
	if j.task, err = a.queued(c); err != nil {
		return err
	}
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	j.from, j.role, j.shown = c, c.role, a.shown
	q.open(j)
	fmt.Fprintf(j.log, "job %d waited when the server ended, and keeps its turn\n", j.id)
	q.line = append(q.line, j)
	return nil
}

// absent is the session of a user who is not connected.
func (s *Server) absent(name string, own bool) (*session, error) {
	as, known := s.roleOf(name)
	if !known {
		return nil, notUser
	}
	u, err := s.state.user(name)
	if err != nil {
		return nil, err
	}
	return &session{
		server: s, ctx: s.queue.ctx, number: s.sessions.Add(1), from: "before the restart", user: u, role: as, own: own && s.tokenList() == nil,
		notices: make(chan notice, maxNotices), shown: map[int]bool{}, sink: &sink{},
	}, nil
}

// roleOf is the role of a user. A user with several tokens has the highest of their roles.
func (s *Server) roleOf(name string) (as door.Role, known bool) {
	all := s.tokenList()
	if all == nil {
		return door.RoleRun, name == localUser
	}
	for _, t := range all {
		if t.User == name && (!known || as == door.RoleLook) {
			as, known = t.Role, true
		}
	}
	return as, known
}

// open gives a job its log. The lock is held.
func (q *queue) open(j *job) {
	j.log = newLog(q.path(j.id))
	j.log.live.OnRun(func(run string) { q.begins(j, run) })
	j.log.live.OnRefused(func(why string) { _ = j.from.noteAs(j.role, eventJob, j.id, j.shown, "refused: "+why) }) // may fail: the log has the job already
}

// path is the file of a job's output; "": none.
func (q *queue) path(id int) string {
	if q.dir == "" {
		return ""
	}
	return filepath.Join(q.dir, strconv.Itoa(id)+".log")
}

// shelve leaves the output of the older of the ended jobs to their files: q.past keeps copies
// without it, as sessions may still read from the jobs themselves. The lock is held.
func (q *queue) shelve() {
	if q.dir == "" {
		return
	}
	for i, j := range q.past[:max(0, len(q.past)-maxEnded)] {
		if j.log != nil {
			shelved := *j
			shelved.log, shelved.from, shelved.task = nil, nil, nil
			q.past[i] = &shelved
		}
	}
}

// prune forgets ended jobs beyond the limits, the oldest first. The lock is held.
func (q *queue) prune() {
	q.shelve()
	bytes, left := int64(0), 0
	for i := len(q.past) - 1; i >= 0; i-- {
		j := q.past[i]
		if info, err := os.Stat(q.path(j.id)); err == nil {
			bytes += info.Size()
		}
		if left >= q.most() || bytes > maxSavedBytes || !j.ended.IsZero() && time.Since(j.ended) > maxSavedAge {
			break
		}
		left++
	}
	for _, j := range q.past[:len(q.past)-left] {
		q.forgetLog(j.id)
	}
	q.past = slices.Clone(q.past[len(q.past)-left:])
}

// most is the number of ended jobs that are kept.
func (q *queue) most() int {
	if q.dir == "" {
		return maxEnded
	}
	return maxSaved
}

func (q *queue) forgetLog(id int) {
	if q.dir != "" {
		_ = os.Remove(q.path(id)) // sweep tries again after a restart
	}
}

// sweep removes output whose job nobody knows. The lock is held.
func (q *queue) sweep() {
	if q.dir == "" {
		return
	}
	files, _ := os.ReadDir(q.dir) // a folder that cannot be read has nothing to sweep
	for _, f := range files {
		id, err := strconv.Atoi(strings.TrimSuffix(f.Name(), ".log"))
		if err != nil || q.known(id) == nil {
			_ = os.Remove(filepath.Join(q.dir, f.Name())) // costs only room
		}
	}
}

// known is the job with that id, as it is in the lists; nil: none. The lock is held.
func (q *queue) known(id int) *job {
	for _, j := range slices.Concat(q.line, []*job{q.current}, q.past, q.lost) {
		if j != nil && j.id == id {
			return j
		}
	}
	return nil
}

// withLog is the job with its output, which may be in its file only. The lock is held.
func (q *queue) withLog(j *job) *job {
	if j == nil || j.log != nil {
		return j
	}
	copied := *j
	copied.log = readLog(q.path(j.id))
	return &copied
}

// readLog reads the output of a job from its file.
func readLog(path string) *log {
	l := newLog("")
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || path == "":
		text = []byte("the output of this job was not kept\n")
	case err != nil:
		text = []byte("the output of this job cannot be read: " + err.Error() + "\n")
	}
	_, _ = l.Write(text) // never fails
	l.close()
	return l
}
