package sim

import (
	"iter"
	"reflect"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/pkg/takt"
)

// journal is an engine.Journal in memory. What it got up to an instant is what remains of a run
// whose process is killed at that instant.
type journal struct {
	wantsAll func() bool
	begin    engine.Beginning
	seconds  []engine.Second
}

func (j *journal) Begin(b engine.Beginning) { j.begin = b }
func (j *journal) WantsAll() bool           { return j.wantsAll() }
func (j *journal) Second(s engine.Second)   { j.seconds = append(j.seconds, s) }

// upTo is what a reader gets from a journal that ends after the n-th second. A second with a full
// state (All) replaces those before it.
func (j *journal) upTo(n int) iter.Seq2[engine.Second, error] {
	first := 0
	for i := range n {
		if j.seconds[i].All != nil {
			first = i
		}
	}
	return func(yield func(engine.Second, error) bool) {
		for i, s := range j.seconds[first:n] {
			if i > 0 {
				s.All = nil
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// unread is how long an answer may wait in its socket. Its done is the instant of arrival, but a
// loop that wakes late counts it later.
const unread = slack / 5

// journal recovers the run as if its process had ended after each second, and checks that no
// operation up to there is missing.
func (k *checker) journal(w *world, rep *takt.Report) {
	j := &w.journal
	for n := 1; n <= len(j.seconds); n++ {
		got, ran, err := engine.Recover(j.begin, j.upTo(n))
		if err != nil {
			k.fault("journal", "after %d seconds: %v", n, err)
			return
		}
		at := j.seconds[n-1].Record.At
		c := got.Counts
		if ran != at || c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
			k.fault("journal", "after %d seconds, at %v: the recovered run lasted %v, counts %+v", n, at, ran, c)
		}
		if k.sc.Mode == modeReceive {
			continue
		}
		least, most := k.endedBy(at-unread), k.endedBy(at+k.smear(&j.begin.Config))
		if ended := c.OK + c.Failed; k.sc.Stalls == 0 && (ended < least || ended > most) {
			k.fault("journal", "after %d seconds, at %v: %d recovered operations had ended, want %d to %d by the rows", n, at, ended, least, most)
		}
		if n == len(j.seconds) && (c != rep.Counts || !reflect.DeepEqual(got.Latency[takt.LatencyResponse], rep.Latency[takt.LatencyResponse])) {
			k.fault("journal", "the whole journal has the counts %+v, the report %+v", c, rep.Counts)
		}
	}
}

// smear is how long after its end a second may still count operations. The recorder takes the counts
// of one shard after the other and pauses for 1 ms after each histogram of a shard, so the last shard
// has all pauses of those before. Each pause ends late: in seed 2828, in which threads wake up to 3 ms
// late, the last shard was taken 54 ms late. slack is for the start of it all: with the pauses alone,
// seed 170 was once one operation beyond the bound, and not when it ran alone.
func (k *checker) smear(c *record.Config) time.Duration {
	pause := time.Millisecond + latestTimer + latestWake
	if k.sc.LateWakes > 0 {
		pause += latestFault
	}
	histograms := len(c.Phases) + len(c.Timed) + 9
	return slack + time.Duration((c.Shards-1)*(histograms+1))*pause
}

// endedBy counts the rows of operations that ended, by answer or failure, at that instant or before.
func (k *checker) endedBy(at time.Duration) (n uint64) {
	for _, r := range k.rows {
		if r.Class != takt.ClassDropped && r.Class != takt.ClassUnfinished && r.Done <= at {
			n++
		}
	}
	return n
}
