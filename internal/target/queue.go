package target

import (
	"sort"
	"time"

	"github.com/taktload/takt/internal/ring"
)

// Window is a stretch of time in which the server is frozen, from Start up to
// but not including End, both since the first request.
type Window struct {
	Start time.Duration `json:"start_ns"`
	End   time.Duration `json:"end_ns"`
}

// simulate is the theory: the response time of each request of a FIFO queue with
// that many servers (0: one for every request). due are the instants of arrival,
// never falling; service is what each one asks of a server; freezes are in order
// and do not overlap. During a freeze nothing starts and nothing ends, and what
// is being served goes on afterwards.
func simulate(due, service []time.Duration, servers int, freezes ...Window) []time.Duration {
	q := newQueue(servers, listed(freezes))
	response := make([]time.Duration, min(len(due), len(service)))
	for i := range response {
		_, end := q.serve(due[i], service[i])
		response[i] = end - due[i]
	}
	return response
}

// calendar gives the first freeze that ends after t; false: there is none.
type calendar func(t time.Duration) (Window, bool)

// listed is the calendar of given windows.
func listed(ws []Window) calendar {
	return func(t time.Duration) (Window, bool) {
		i := sort.Search(len(ws), func(i int) bool { return ws[i].End > t })
		if i == len(ws) {
			return Window{}, false
		}
		return ws[i], true
	}
}

// start moves t out of a freeze.
func (c calendar) start(t time.Duration) time.Duration {
	for {
		w, ok := c(t)
		if !ok || w.Start > t {
			return t
		}
		t = w.End
	}
}

// end is when a service begun at t outside a freeze is over. One that needs
// exactly the time left before a freeze is over just in time.
func (c calendar) end(t, service time.Duration) time.Duration {
	for {
		w, ok := c(t)
		if !ok || t+service <= w.Start {
			return t + service
		}
		service -= max(0, w.Start-t)
		t = w.End
	}
}

// horizon is where a hopeless queue stops growing, after 73 years: no sum of
// instants overflows.
const horizon = time.Duration(1 << 61)

// queue is the state of a FIFO queue in virtual time.
type queue struct {
	freezes calendar
	servers int                      // 0: unlimited
	free    ring.Heap[time.Duration] // when each server that was used becomes free
}

func newQueue(servers int, freezes calendar) *queue {
	return &queue{freezes: freezes, servers: servers, free: ring.NewHeap(func(a, b time.Duration) bool { return a < b })}
}

// serve takes the next request, which arrives at that instant, and says when its
// service starts and ends. Arrivals never fall.
func (q *queue) serve(at, service time.Duration) (start, end time.Duration) {
	start = q.freezes.start(min(max(at, q.earliest()), horizon))
	end = q.freezes.end(start, service)
	if q.servers > 0 {
		q.free.Push(end)
	}
	return start, end
}

// earliest takes the server that is free first out of the heap; servers that
// were never used are free since ever.
func (q *queue) earliest() time.Duration {
	if q.servers == 0 || q.free.Len() < q.servers {
		return 0
	}
	return q.free.Pop()
}

// Theory is the response time of each recorded request, had they been due one after another gap
// apart at a queue with that many servers. Each service is longer by what the server was late
// with the answer.
func (t *Truth) Theory(servers int, gap time.Duration) []time.Duration {
	due, service := make([]time.Duration, len(t.Records)), make([]time.Duration, len(t.Records))
	for i, r := range t.Records {
		due[i], service[i] = time.Duration(i)*gap, r.Service+r.Released-r.End
	}
	return simulate(due, service, servers, t.Freezes...)
}
