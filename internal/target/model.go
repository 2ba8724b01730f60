package target

import (
	"errors"
	"time"
)

// Model is a Server in virtual time: the same queue, service times and failures, without sockets.
type Model struct {
	services services
	fates    fates
	queue    *queue
}

// NewModel returns the Model of the Server that has these options. The error joins every fault of the
// options.
func NewModel(o Options) (*Model, error) {
	s, faults := o.settings()
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return &Model{services: s.services, fates: s.fates, queue: newQueue(o.Servers, s.freeze.next)}, nil
}

// Request is when the server is done with a request that arrives at that instant, and how it ends it. Both
// instants are since the first request. Arrivals never fall.
func (m *Model) Request(arrival time.Duration) (end time.Duration, outcome Outcome) {
	_, end = m.queue.serve(arrival, m.services.next(arrival))
	return end, m.fates.draw()
}
