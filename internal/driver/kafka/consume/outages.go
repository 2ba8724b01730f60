package consume

import (
	"sync"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/outage"
)

// outages are the times in which partitions could not be read. A nil *outages notes nothing.
type outages struct {
	log   outage.Log
	start time.Time
	most  time.Duration // time without an answer to a fetch from which a partition is out

	mu       sync.Mutex
	answered func(partition int32) time.Time // last answer to a fetch; nil: the client does not tell
	parts    map[int32]*readable
}

// readable is a partition as a consumer sees it.
type readable struct {
	*outage.Part
	heard time.Time // last answer to a fetch, or records
	out   bool
	lag   int64 // when it was last known not to be out
}

// A broker answers a fetch within maxWait, also if there are no records.
func newOutages(maxWait time.Duration, arrivals func() outage.Arrivals) *outages {
	return &outages{log: outage.Log{Arrivals: arrivals}, most: maxWait + outage.Silence, parts: map[int32]*readable{}}
}

// watch sets the function that knows the last answer to a fetch.
func (o *outages) watch(answered func(int32) time.Time) {
	if o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.answered = answered
	}
}

// of returns the part of a partition. The caller holds the lock.
func (o *outages) of(number int32, now time.Time) *readable {
	p := o.parts[number]
	if p == nil {
		p = &readable{Part: o.log.Part(cluster.PartitionName(number)), heard: now}
		o.parts[number] = p
	}
	return p
}

func (o *outages) since(at time.Time) time.Duration { return at.Sub(o.start) }

// arrived notes records.
func (o *outages) arrived(number int32, at time.Time) {
	if o != nil {
		o.mu.Lock()
		p := o.of(number, at)
		p.heard, p.out = at, false
		o.mu.Unlock()
		p.Back(o.since(at))
	}
}

// left notes that another member of the group reads the partition now.
func (o *outages) left(number int32, at time.Time) { o.arrived(number, at) }

// looked notes which leaders answered a look, and which fetches have had no answer for too long.
func (o *outages) looked(l cluster.Look, now time.Time, lag func(int32) int64) {
	if o == nil {
		return
	}
	for number, err := range l.Errs {
		o.check(number, l.Began, now, err, lag(number))
	}
	for number := range l.Ends {
		o.check(number, l.Began, now, nil, lag(number))
	}
}

// check judges one partition. What was heard since the look began is newer than its error.
func (o *outages) check(number int32, began, now time.Time, err error, lag int64) {
	o.mu.Lock()
	p := o.of(number, now)
	if o.answered != nil {
		if at := o.answered(number); at.After(p.heard) {
			p.heard = at
		}
	}
	failed := err != nil && p.heard.Before(began)
	quiet := o.answered != nil && now.Sub(p.heard) > o.most
	works, at := err == nil && !quiet, began
	if o.answered != nil { // it says more than the lag
		works, at = works && !p.heard.Before(began.Add(-o.most)), p.heard
	} else if p.out {
		works = works && lag <= p.lag
	}
	p.out = failed || quiet || p.out && !works
	if !p.out {
		p.lag = lag
	}
	heard := p.heard
	o.mu.Unlock()
	switch { // without the lock: the log asks what has arrived
	case failed:
		p.Lost(o.since(began), o.since(began), err)
	case quiet:
		p.Silent(o.since(heard))
	case works:
		p.Back(o.since(at))
	}
}
