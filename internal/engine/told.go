package engine

import (
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// Told passes a run that other processes make on to a journal, second by second: the shards of a fleet
// have no journal of their own. What has no interval is unknown: status codes, bytes, the times of
// operations other than response and service time, and which of them were open.
type Told struct {
	journal   Journal
	begin     Beginning
	replay    *record.Replay
	at        time.Duration // end of the last second
	scheduled uint64
}

// Tell begins the journal of such a run.
func Tell(j Journal, b Beginning) (*Told, error) {
	b.Told = true
	replay, err := record.NewReplay(b.Config)
	if err != nil {
		return nil, err
	}
	j.Begin(b)
	return &Told{journal: j, begin: b, replay: replay}, nil
}

// Interval passes on a second of the whole. failures are those of the run so far. The error says why
// the journal has this second and those after it no more.
func (t *Told) Interval(iv takt.Interval, failures []takt.ErrorClass) error {
	end := time.Duration(iv.T * float64(time.Second))
	for end-t.at > time.Second { // nobody sent these seconds
		if err := t.second(takt.Interval{Warmup: t.at < t.begin.Config.Warmup}, nil, t.at+time.Second); err != nil {
			return err
		}
	}
	return t.second(iv, failures, max(end, t.at))
}

func (t *Told) second(iv takt.Interval, failures []takt.ErrorClass, end time.Duration) error {
	var s Second
	if t.journal.WantsAll() {
		before := t.replay.State()
		s.All = &before
	}
	t.at, t.scheduled = end, t.scheduled+iv.Scheduled
	s.Record = t.begin.Config.SecondOf(iv, failures, t.begin.ReceiveOnly, end, t.scheduled)
	if err := t.replay.Second(s.Record); err != nil {
		return err
	}
	t.journal.Second(s)
	return nil
}

// untold removes what the intervals of a run do not say.
func untold(r *takt.Report) {
	for _, name := range []string{takt.LatencyResponseOK, takt.LatencySendDelay, takt.LatencyScheduleLag} {
		delete(r.Latency, name)
	}
	r.Attribution = takt.Attribution{}
}
