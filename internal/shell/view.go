package shell

import (
	"slices"
	"time"
)

// view is a job as programs see it, and as it is saved.
type view struct {
	ID        int        `json:"id"`
	State     jobState   `json:"state"`
	User      string     `json:"user"`
	Command   string     `json:"command"`            // without secrets
	Position  int        `json:"position,omitempty"` // in the queue, from 1; 0: the job does not wait
	Queued    time.Time  `json:"queued"`
	Began     *time.Time `json:"began,omitempty"`
	Ended     *time.Time `json:"ended,omitempty"`
	ExitCode  *int       `json:"exit_code,omitempty"`
	Cancelled bool       `json:"cancelled,omitempty"`
	Reports   []string   `json:"reports,omitempty"` // ids of its runs; each is stored when it ends
	Reason    string     `json:"reason,omitempty"`  // why an interrupted job was not run to its end
}

// view describes a job.
func (q *queue) view(j *job) view {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seen(j)
}

// views describes all jobs: the running one, those that wait, those that a restart has interrupted,
// and those that ended, the newest first.
func (q *queue) views() []view {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := []view{}
	if q.current != nil {
		all = append(all, q.seen(q.current))
	}
	for _, j := range q.line {
		all = append(all, q.seen(j))
	}
	for _, j := range q.lost {
		all = append(all, q.seen(j))
	}
	for i := len(q.past) - 1; i >= 0; i-- {
		all = append(all, q.seen(q.past[i]))
	}
	return all
}

// seen describes a job. The lock is held.
func (q *queue) seen(j *job) view {
	v := view{
		ID: j.id, State: j.state, User: j.owner, Command: j.shown, Queued: j.queued.UTC(), Cancelled: j.stops > 0,
		Began: instant(j.began), Ended: instant(j.ended), Reports: slices.Clone(j.runs), Reason: j.reason,
	}
	if j.state == done {
		code := j.code
		v.ExitCode = &code
	}
	if j.state == waiting {
		v.Position = slices.Index(q.line, j) + 1
	}
	return v
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
