package consume

import (
	"errors"
	"testing"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/pkg/takt"
)

const s = time.Second

// looks are answers to looks for partition 0.
type looks struct {
	*outages
	lag      int64
	answered time.Time // by the leader, to a fetch
}

func newLooks(tells bool) *looks {
	l := &looks{outages: newOutages(s/2, false, func() outage.Arrivals { return outage.Arrivals{} })}
	l.start = time.Unix(1000, 0)
	if tells {
		l.watch(0, func(place) time.Time { return l.answered })
	}
	return l
}

func (l *looks) at(d time.Duration) time.Time { return l.start.Add(d) }

// look is one that began at an instant and took a tenth of a second.
func (l *looks) look(began time.Duration, err error) {
	one := cluster.Look{Began: l.at(began)}
	if err != nil {
		one.Errs = map[int32]error{0: err}
	} else {
		one.Ends = map[int32]int64{0: 10}
	}
	l.looked("", one, l.at(began+s/10), func(place) int64 { return l.lag })
}

// list wants n outages.
func (l *looks) list(t *testing.T, n int) []takt.Outage {
	t.Helper()
	r := &takt.Report{}
	l.log.Describe(r, false)
	if len(r.Outages) != n {
		t.Fatalf("outages %+v, want %d", r.Outages, n)
	}
	return r.Outages
}

var errGone = errors.New("refused")

// A partition is out from the failed look until records come.
func TestOutageWithoutLeader(t *testing.T) {
	l := newLooks(true)
	l.arrived(place{}, l.at(s))
	l.look(2*s, errGone)
	l.look(5*s/2, errGone)
	l.look(3*s, nil) // a leader, and no fetch yet
	l.arrived(place{}, l.at(4*s))
	l.look(5*s, nil)
	o := l.list(t, 1)[0]
	if o.From != 2 || *o.To != 4 || o.Cause != "refused" || o.Doubled == nil || o.Lost != nil {
		t.Errorf("%+v", o)
	}
}

// If the leader answers no fetch for longer than --fetch-max-wait and a second, the partition is out,
// even if the leader answers others.
func TestOutageWithoutFetches(t *testing.T) {
	l := newLooks(true)
	l.arrived(place{}, l.at(s))
	for i := time.Duration(2); i < 12; i++ {
		l.look(i*s/2, nil) // at 2.4 s still within the time
	}
	if o, ok := l.log.Newest(); !ok || o.From != 1 || o.To != nil {
		t.Errorf("%+v", o)
	}
	l.answered = l.at(6 * s)
	l.look(6*s+s/10, nil)
	o := l.list(t, 1)[0]
	if *o.To != 6 || o.Cause != "no answer for 5s" {
		t.Errorf("%+v", o)
	}
}

// A look that fails although fetches are answered says nothing.
func TestNoOutage(t *testing.T) {
	l := newLooks(true)
	l.answered = l.at(2*s + s/20)
	l.look(2*s, errGone)
	l.arrived(place{}, l.at(3*s+s/20))
	l.look(3*s, errGone) // the records came meanwhile
	l.list(t, 0)
}

// sarama does not tell when fetches are answered: the partition works when the rest is not longer
// than before, or when records come.
func TestOutageOfSarama(t *testing.T) {
	l := newLooks(false)
	l.lag = 1 // the marker of a transaction
	l.look(s, nil)
	l.look(60*s, nil)
	l.look(61*s, errGone)
	l.lag = 5
	l.look(62*s, nil)
	l.lag = 1
	l.look(63*s, nil)
	o := l.list(t, 1)[0]
	if o.From != 61 || *o.To != 63 {
		t.Errorf("%+v", o)
	}
}

// A member that comes back may be asked at once, and its old client no more.
func TestOutagesOfRestartedMembers(t *testing.T) {
	r := NewReceiver(&cluster.Traffic{}, nil, "t")
	r.outages = newOutages(s/2, false, r.Arrivals)
	o := New()
	o.Topic, o.Brokers, o.Group, o.Traffic = "t", "127.0.0.1:1", "g", r.traffic
	over := make(chan struct{})
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for {
			select {
			case <-over:
				return
			default:
				r.outages.looked("t", cluster.Look{Began: time.Now(), Ends: map[int32]int64{0: 10}}, time.Now(), func(place) int64 { return 0 })
			}
		}
	}()
	for range 20 {
		f, err := o.openFranzConsumer(r)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	close(over)
	<-asked
	if n := len(r.outages.answered); n != 1 {
		t.Errorf("%d clients of one member are asked", n)
	}
}
