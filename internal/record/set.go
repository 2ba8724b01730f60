package record

import (
	"strconv"
	"time"

	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

const (
	maxStatus  = 600 // result codes below this are counted in an array, without a hash
	maxClasses = 64  // further classes are counted as classOther
	maxSample  = 300 // bytes kept of a class's first error
	maxBody    = 256 // bytes kept of the body of a class's first error
	classOther = "other"
	MaxPhases  = 16 // of a run, with those of Timed
)

// set is the counts between two swaps. Operations due in the warm-up have their own counts
// and histograms, which only intervals show.
type set struct {
	cfg *Config
	sums
	slices                    [sliceCount]slice
	blocks                    *proof.Counts   // response times and what did not succeed, by due
	course                    course          // achieved and unsent, while the window's end is unknown
	due                       Steps           // due instants of all operations, for a journal
	lost                      uint64          // values clamped before a journal's state, whose histograms lack that count
	ok, other                 *hist.Histogram // response time of ok operations; of failed and unfinished ones
	service, delay, lag       *hist.Histogram
	warmAll, warmSvc, warmLag *hist.Histogram
	onTime                    *hist.Histogram   // response time without the generator's own part
	phases                    []*hist.Histogram // and those of Timed; nil until the first value: most runs use few phases
	timed                     []*proof.Counts   // of those of Timed with Row, by due; nil until the first value
	status                    [maxStatus]uint64
	statusElse                map[int]uint64
	classes                   map[string]*takt.ErrorClass
}

// sums are the counts of a set that are plain data.
type sums struct {
	Counts   takt.Counts `json:"counts"`
	Warm     takt.Counts `json:"warm"`
	Received uint64      `json:"received,omitempty"`
	Achieved uint64      `json:"achieved"` // operations sent within the window that ended
	verdict.Evidence
	LastDone  time.Duration `json:"last_done"`
	Good      uint64        `json:"good,omitempty"` // as in takt.Goodput
	Undecided uint64        `json:"undecided,omitempty"`
	Bytes     takt.Bytes    `json:"bytes"`
}

// merge adds o.
func (s *sums) merge(o *sums) {
	s.Counts, s.Warm = s.Counts.Plus(o.Counts), s.Warm.Plus(o.Warm)
	s.Received += o.Received
	s.Achieved += o.Achieved
	s.Evidence.Merge(&o.Evidence)
	s.LastDone = max(s.LastDone, o.LastDone)
	s.Good, s.Undecided = s.Good+o.Good, s.Undecided+o.Undecided
	s.Bytes.Sent += o.Bytes.Sent
	s.Bytes.Received += o.Bytes.Received
}

func newSet(cfg *Config) *set {
	s := &set{
		cfg:    cfg,
		blocks: proof.New(cfg.Window - cfg.Warmup),
		ok:     hist.New(), other: hist.New(),
		service: hist.New(), delay: hist.New(), lag: hist.New(), onTime: hist.New(),
		phases:     make([]*hist.Histogram, len(cfg.Phases)+len(cfg.Timed)),
		timed:      make([]*proof.Counts, len(cfg.Timed)),
		statusElse: map[int]uint64{},
		classes:    map[string]*takt.ErrorClass{},
	}
	if cfg.Warmup > 0 {
		s.warmAll, s.warmSvc, s.warmLag = hist.New(), hist.New(), hist.New()
	}
	s.touch()
	return s
}

// The places in histograms. Those of the phases follow, and onTime, which older journals lack, is last.
const (
	placeOK = iota
	placeOther
	placeService
	placeDelay
	placeLag
	placeWarm
	placeWarmService
	placeWarmLag
	placePhases
)

func (s *set) histograms() []*hist.Histogram {
	all := append([]*hist.Histogram{s.ok, s.other, s.service, s.delay, s.lag, s.warmAll, s.warmSvc, s.warmLag}, s.phases...)
	return append(all, s.onTime)
}

// touch makes the memory pages of the histograms that nearly every run fills. 2000 page
// faults at the first Swap took two cores 5 ms, and operations were late.
func (s *set) touch() {
	for _, h := range []*hist.Histogram{s.ok, s.service, s.delay, s.lag, s.onTime, s.warmAll, s.warmSvc, s.warmLag} {
		if h != nil {
			h.Reset()
		}
	}
}

func (s *set) reset() {
	for _, h := range s.histograms() {
		if h != nil && h.Count() > 0 {
			h.Reset()
		}
	}
	clear(s.statusElse)
	clear(s.classes)
	s.sums, s.lost = sums{}, 0
	s.slices = [sliceCount]slice{}
	s.course.reset()
	s.blocks.Reset()
	for _, c := range s.timed {
		if c != nil {
			c.Reset()
		}
	}
	s.due.reset()
	s.status = [maxStatus]uint64{}
}

func (s *set) phase(i int) *hist.Histogram {
	if s.phases[i] == nil {
		s.phases[i] = hist.New()
	}
	return s.phases[i]
}

// latency counts a value of a phase that belongs to an operation due at an instant, or happened then.
func (s *set) latency(i int, due, d time.Duration) {
	s.phase(i).Record(d)
	if k := i - len(s.cfg.Phases); k >= 0 && s.cfg.Timed[k].Row {
		s.timedBlocks(k).Add(due-s.cfg.Warmup, d, 1)
	}
}

func (s *set) timedBlocks(k int) *proof.Counts {
	if s.timed[k] == nil {
		s.timed[k] = proof.New(s.cfg.Window - s.cfg.Warmup)
	}
	return s.timed[k]
}

// sample counts n operations that are equal but for their number.
func (s *set) sample(e *Event, n uint64, res *takt.Result, window time.Duration) {
	if e.Outcome != Dropped {
		s.LastDone = max(s.LastDone, e.Done)
	}
	if s.cfg.Journal {
		s.due.Add(e.Due, n)
	}
	if e.Due < s.cfg.Warmup {
		s.sampleWarm(e, n, res)
		return
	}
	due, failed := e.Due-s.cfg.Warmup, res != nil && res.Class != ""
	count(&s.Counts, n, e.Outcome, failed)
	s.late(e, n, window)
	switch e.Outcome {
	case Dropped:
		s.Drops.Add(e.Done-e.Due, n)
		s.blocks.Dropped(due, n)
		if !e.Looked {
			s.Blind += n
		}
	case UnfinishedQueued:
		s.other.RecordN(e.Done-e.Due, n)
		s.blocks.Add(due, e.Done-e.Due, n)
		s.blocks.Unfinished(due, n)
		s.onTime.RecordN(e.Done-e.Due-s.attributeUnsent(e, n), n)
	case UnfinishedSent:
		s.sent(e, n, res, s.other)
		s.blocks.Unfinished(due, n)
		s.traffic(res, n)
		if _, dial := s.cfg.own(res); dial > 0 {
			s.phase(s.cfg.dial).RecordN(dial, n)
		}
	case Ended:
		switch {
		case s.cfg.Window < 0:
			s.course.at(e.Sent - e.input()).ended += n
		case e.Sent-e.input() <= window: // waiting for the list is no lateness
			s.Achieved += n
		}
		if failed {
			s.blocks.Failed(due, n)
			s.sent(e, n, res, s.other)
		} else {
			s.sent(e, n, res, s.ok)
			s.goal(due, n, res)
		}
		s.result(res, n)
	}
}

// goal counts operations that ended well by whether they met the conditions of the run.
func (s *set) goal(due time.Duration, n uint64, res *takt.Result) {
	switch {
	case res == nil || res.Goal == takt.NoGoal:
		return
	case res.Goal == takt.GoalMet:
		s.Good += n
		return
	case res.Goal == takt.GoalUnknown:
		s.Undecided += n
	}
	s.blocks.Missed(due, n)
}

func (s *set) sampleWarm(e *Event, n uint64, res *takt.Result) {
	count(&s.Warm, n, e.Outcome, res != nil && res.Class != "")
	if e.Outcome == Dropped {
		return
	}
	s.warmAll.RecordN(e.Done-e.Due, n)
	if e.Outcome != UnfinishedQueued {
		s.warmSvc.RecordN(e.Done-e.Sent, n)
		s.warmLag.RecordN(e.lag(), n)
	}
}

// late counts operations that had a free slot but were not sent by the end of the window plus
// Grace.
func (s *set) late(e *Event, n uint64, window time.Duration) {
	sent := e.Sent
	if e.Outcome == UnfinishedQueued {
		sent = e.Done
	}
	limit := window + grace
	switch {
	case e.Outcome == Dropped:
	case s.cfg.Window < 0:
		s.course.at(max(e.Due, e.Free)).ready += n
		s.course.at(sent).sent += n
	case sent > limit && max(e.Due, e.Free) <= limit:
		s.Unsent += n
	}
}

func (s *set) sent(e *Event, n uint64, res *takt.Result, response *hist.Histogram) {
	response.RecordN(e.Done-e.Due, n)
	s.blocks.Add(e.Due-s.cfg.Warmup, e.Done-e.Due, n)
	s.service.RecordN(e.Done-e.Sent, n)
	s.delay.RecordN(e.Sent-e.Due, n)
	s.lag.RecordN(e.lag(), n)
	s.held(e, n)
	s.onTime.RecordN(e.Done-e.Due-s.attribute(e, n, res), n)
}

// held sums who used the connections. all has every operation: the target from sent to done,
// the generator until it had read the answer. queued has operations that waited for a
// connection: the target while it served the operation before, but for the generator's own part,
// then the generator until it sent the waiting one.
func (s *set) held(e *Event, n uint64) {
	s.All.Add(max(0, e.Read-e.Done), e.Done-e.Sent, n)
	if e.Free > e.Due {
		s.Queued.Add(e.Sent-e.Free+e.Before.Own, e.Before.Service-e.Before.Own, n)
	}
}

func count(c *takt.Counts, n uint64, o Outcome, failed bool) {
	switch {
	case o == Dropped:
		c.Dropped += n
		return
	case o == UnfinishedQueued:
		c.Unfinished += n
		return
	case o == UnfinishedSent:
		c.Unfinished += n
	case failed:
		c.Failed += n
	default:
		c.OK += n
	}
	c.Sent += n
}

func (s *set) receive(now time.Duration, res *takt.Result) {
	s.LastDone = max(s.LastDone, now)
	switch {
	case now < s.cfg.Warmup:
		s.Warm.OK++
		return
	case res.Class == "":
		s.Received++
	default:
		s.Counts.Failed++
	}
	s.result(res, 1)
}

func (s *set) result(res *takt.Result, n uint64) {
	if res == nil {
		return
	}
	s.traffic(res, n)
	for i := range min(len(s.cfg.Phases), takt.MaxPhases) {
		if d := res.Phases[i]; d > 0 {
			s.phase(i).RecordN(d, n)
		}
	}
	s.addStatus(res.Status, n)
	if res.Class != "" {
		s.class(res, n)
	}
}

// traffic counts the bytes of n operations; those of an unfinished one as far as they are known.
func (s *set) traffic(res *takt.Result, n uint64) {
	if res != nil {
		s.Bytes = s.Bytes.Plus(takt.Bytes{Sent: int64(n) * res.BytesSent, Received: int64(n) * res.BytesReceived})
	}
}

func (s *set) addStatus(code int, n uint64) {
	switch {
	case code > 0 && code < maxStatus:
		s.status[code] += n
	case code != 0:
		s.statusElse[code] += n
	}
}

func (s *set) class(res *takt.Result, n uint64) {
	if c := s.classes[res.Class]; c != nil {
		c.Count += n
		return
	}
	c := &takt.ErrorClass{Class: res.Class, Count: n}
	if res.Err != nil {
		c.Sample = clip(s.cfg.Scrub(res.Err.Error()), maxSample)
	}
	c.Body = clip(s.cfg.Scrub(string(res.Body)), maxBody)
	s.addClass(c)
}

func (s *set) addClass(c *takt.ErrorClass) {
	have := s.classes[c.Class]
	if have == nil && len(s.classes) >= maxClasses {
		have = s.classes[classOther]
		c.Class = classOther
	}
	if have == nil {
		s.classes[c.Class] = c
		return
	}
	have.Count += c.Count
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n-1] + "…"
}

// merge adds o to s and calls rest between the pieces of work. A class keeps its first
// sample.
func (s *set) merge(o *set, rest func()) {
	s.sums.merge(&o.sums)
	for i := range o.slices {
		if p := &o.slices[i]; p.N > 0 {
			s.slices[i].merge(p)
		}
	}
	s.course.merge(&o.course)
	_ = s.blocks.Merge(o.blocks) // of one run: cannot fail
	for k, c := range o.timed {
		if c != nil && c.Count() > 0 {
			_ = s.timedBlocks(k).Merge(c)
			rest()
		}
	}
	s.lost += o.lost
	mine, theirs := s.histograms(), o.histograms()
	for i, h := range theirs {
		if h == nil || h.Count() == 0 {
			continue
		}
		if mine[i] == nil { // only a phase's histogram can be nil
			mine[i] = s.phase(i - placePhases)
		}
		mine[i].Merge(h)
		rest()
	}
	for code, n := range o.status {
		s.status[code] += n
	}
	for code, n := range o.statusElse {
		s.statusElse[code] += n
	}
	for _, c := range o.classes {
		copied := *c
		s.addClass(&copied)
	}
}

// mergeLive adds what an interval shows, including the warm-up, and calls rest as merge does.
// A one-way driver has no response and service time.
func (s *set) mergeLive(o *set, rest func()) {
	s.Counts = s.Counts.Plus(o.Counts).Plus(o.Warm)
	s.Counts.OK += o.Received
	s.Bytes = s.Bytes.Plus(o.Bytes)
	s.Good += o.Good
	for _, c := range o.classes {
		s.addClass(&takt.ErrorClass{Class: c.Class, Count: c.Count})
	}
	for _, m := range [...]struct{ into, from *hist.Histogram }{
		{s.ok, o.ok}, {s.ok, o.other}, {s.ok, o.warmAll},
		{s.service, o.service}, {s.service, o.warmSvc},
		{s.lag, o.lag}, {s.lag, o.warmLag},
	} {
		if m.from != nil && m.from.Count() > 0 && (m.into == s.lag || !s.cfg.OneWay) {
			m.into.Merge(m.from)
			rest()
		}
	}
	for i, t := range s.cfg.Timed {
		if h := o.phases[len(s.cfg.Phases)+i]; t.Course && h != nil && h.Count() > 0 {
			s.phase(len(s.cfg.Phases) + i).Merge(h)
			rest()
		}
	}
}

// courses are the histograms of the interval that s is, by name.
func (s *set) courses() map[string]*hist.Histogram {
	var all map[string]*hist.Histogram
	for i, t := range s.cfg.Timed {
		if h := s.phases[len(s.cfg.Phases)+i]; h != nil && t.Course {
			if all == nil {
				all = map[string]*hist.Histogram{}
			}
			all[t.Name] = h
		}
	}
	return all
}

// clamped is the number of values outside the range of a histogram. Those of onTime are in others, too.
func (s *set) clamped() uint64 {
	n := s.lost
	for _, h := range s.histograms() {
		if h != nil && h != s.onTime {
			n += h.Clamped()
		}
	}
	return n
}

func (s *set) statusMap() map[string]uint64 {
	m := map[string]uint64{}
	for code, n := range s.status {
		if n > 0 {
			m[strconv.Itoa(code)] = n
		}
	}
	for code, n := range s.statusElse {
		m[strconv.Itoa(code)] = n
	}
	return m
}
