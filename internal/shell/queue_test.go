package shell

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A job begins only when the file of jobs says that it runs, however slow the disk is: a server that
// is killed at the first instant of a job does not run the job again after a restart.
func TestSavedBeforeItBegins(t *testing.T) {
	const jobs = 3
	synctest.Test(t, func(t *testing.T) {
		began, release := make(chan int, jobs), make(chan struct{})
		file := map[int]jobState{} // what a server that is killed now would leave
		q := newQueue(t.Context(), "", func(all savedJobs) error {
			select {
			case id := <-began:
				if file[id] != running {
					t.Errorf("job %d began while the file said %q", id, file[id])
				}
			case <-time.After(time.Second): // the disk is slow
			}
			for _, j := range all.Jobs {
				file[j.ID] = j.State
			}
			return nil
		})
		ann := &session{server: &Server{}, user: &user{name: "ann"}}
		for id := 1; id <= jobs; id++ {
			work := func(context.Context, <-chan struct{}, *log) int {
				began <- id
				<-release
				return 0
			}
			if _, _, err := q.add(ann, action{shown: "http", task: work}); err != nil {
				t.Fatal(err)
			}
		}
		close(release)
		q.jobs.Wait()
		for id := 1; id <= jobs; id++ {
			if file[id] != done {
				t.Errorf("job %d: the file says %q", id, file[id])
			}
		}
	})
}
