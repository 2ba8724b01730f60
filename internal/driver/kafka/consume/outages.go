package consume

import (
	"sync"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/outage"
)

// outages are the times in which partitions could not be read. A nil *outages notes nothing.
type outages struct {
	log     outage.Log
	start   time.Time
	several bool          // there are several topics
	most    time.Duration // time without an answer to a fetch from which a partition is out

	mu       sync.Mutex
	answered map[int]func(place) time.Time // by member, the last answer to a fetch; nil: the client does not tell
	parts    map[place]*readable
}

// readable is a partition as a consumer sees it.
type readable struct {
	*outage.Part
	heard time.Time // last answer to a fetch, or records
	out   bool
	lag   int64 // when it was last known not to be out
}

// A broker answers a fetch within maxWait, also if there are no records.
func newOutages(maxWait time.Duration, several bool, arrivals func() outage.Arrivals) *outages {
	return &outages{log: outage.Log{Arrivals: arrivals}, several: several, most: maxWait + outage.Silence, parts: map[place]*readable{}}
}

// watch sets the function of a member's client that knows the last answer to a fetch. It replaces that
// of the client before the member was restarted.
func (o *outages) watch(member int, answered func(place) time.Time) {
	if o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.answered == nil {
			o.answered = map[int]func(place) time.Time{}
		}
		o.answered[member] = answered
	}
}

// of returns the part of a partition. The caller holds the lock.
func (o *outages) of(at place, now time.Time) *readable {
	p := o.parts[at]
	if p == nil {
		p = &readable{Part: o.log.Part(o.name(at)), heard: now}
		o.parts[at] = p
	}
	return p
}

// name is how the report calls a partition.
func (o *outages) name(at place) string {
	if !o.several {
		at.topic = ""
	}
	return cluster.PartitionName(at.topic, at.partition)
}

func (o *outages) since(at time.Time) time.Duration { return at.Sub(o.start) }

// arrived notes records.
func (o *outages) arrived(from place, at time.Time) {
	if o != nil {
		o.mu.Lock()
		p := o.of(from, at)
		p.heard, p.out = at, false
		o.mu.Unlock()
		p.Back(o.since(at))
	}
}

// left notes that another member of the group reads the partition now.
func (o *outages) left(from place, at time.Time) { o.arrived(from, at) }

// begun notes that a member begins to read the partition: nobody fetched from it before.
func (o *outages) begun(from place, at time.Time) {
	if o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.of(from, at).heard = at
	}
}

// looked notes which leaders answered a look, and which fetches have had no answer for too long.
func (o *outages) looked(topic string, l cluster.Look, now time.Time, lag func(place) int64) {
	if o == nil {
		return
	}
	for number, err := range l.Errs {
		at := place{topic, number}
		o.check(at, l.Began, now, err, lag(at))
	}
	for number := range l.Ends {
		at := place{topic, number}
		o.check(at, l.Began, now, nil, lag(at))
	}
}

// check judges one partition. What was heard since the look began is newer than its error.
func (o *outages) check(of place, began, now time.Time, err error, lag int64) {
	o.mu.Lock()
	p := o.of(of, now)
	for _, answered := range o.answered {
		if at := answered(of); at.After(p.heard) {
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
