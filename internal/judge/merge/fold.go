package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Fold builds the report of a whole run from the reports of its shards, which come one at a time, in any
// order: each order results in the same report. Its memory is that of the seconds of the run, and a few
// kilobytes for each shard: it forgets intervals and histograms once they are added.
//
// Histograms are merged exactly: all percentiles are those of one histogram of all operations.
// Counts, bytes and the costs of the generators are added. DurationS is that of the longest shard,
// and rates are all operations divided by it. The intended rate is that of the schedule, even if a
// shard was cut short. The caller sets ComparabilityKey. Tool and Command are those of the first
// shard, the one with the lowest number.
type Fold struct {
	options Options
	list    []shard           // in the order in which they came
	strays  []string          // faults of reports that are not shards
	found   map[string]string // ids of the shards that were added, by "2/3"
	shared  shared
	first   shard                    // so far
	command []string                 // of the first shard: each has another
	latency map[string]*hist.Sparse  // by name
	blocks  map[string]*proof.Counts // of the latencies of which each shard so far has blocks with common instants; nil: not each
	grids   map[float64]*grid        // by the length of an interval
	status  map[string]uint64
	errors  errorSums
	outages []takt.Outage
	faults  []takt.Fault
	decoder hist.Decoder
}

// New returns a Fold without shards.
func New(o Options) *Fold {
	return &Fold{
		options: o, found: map[string]string{}, shared: shared{},
		latency: map[string]*hist.Sparse{}, blocks: map[string]*proof.Counts{}, grids: map[float64]*grid{}, status: map[string]uint64{}, errors: errorSums{},
	}
}

// Add adds the report of one shard. It does not change r, and keeps its small parts, so they must not
// change either. The error is an *UnmergeableError with the faults of this report. From then on Report
// fails with these faults, too, unless Options.LeaveOut says otherwise.
func (f *Fold) Add(r *takt.Report) error {
	k, n := shardNumber(r.Schedule.Shard)
	if n < 2 {
		fault := fmt.Sprintf("%s is not a shard, but the report of a whole run; give the reports of runs with --shard k/n", r.ID)
		if !f.options.LeaveOut {
			f.strays = append(f.strays, fault)
		}
		return &UnmergeableError{[]string{fault}}
	}
	s := shard{Report: r, k: k, n: n, host: f.hostOf(r), intervals: len(r.Intervals)}
	faults := append(s.faults(), f.against(s)...)
	if f.options.LeaveOut {
		faults = append(faults, New(Options{}).sum(s, r)...) // a trial
		if len(faults) > 0 {
			return &UnmergeableError{faults}
		}
	}
	f.found[s.place()] = s.ID
	s = f.small(s)
	s.damaged = f.sum(s, r)
	faults = append(faults, s.damaged...)
	f.list = append(f.list, s)
	if f.first.Report == nil || s.k < f.first.k {
		f.first, f.command = s, r.Command
	}
	if len(faults) > 0 {
		return &UnmergeableError{faults}
	}
	return nil
}

// against compares a shard with the first one, which stands for all that came before. Report compares
// all.
func (f *Fold) against(s shard) (faults []string) {
	if id, twice := f.found[s.place()]; twice {
		faults = append(faults, fmt.Sprintf("%s and %s are both shard %s; give each shard once", id, s.ID, s.Schedule.Shard))
	}
	if f.first.Report == nil {
		return faults
	}
	pair := []shard{f.first, s}
	faults = append(faults, strange(s, f.first)...)
	return append(faults, labelFaults(pair)...)
}

// hostOf is the name of the machine of a shard; "": unknown.
func (f *Fold) hostOf(r *takt.Report) string {
	name, _ := r.Extra["host"].(string)
	return cmp.Or(f.options.Hosts[r.Schedule.Shard], name)
}

// byNumber sorts shards, the whole's first one first.
func byNumber(a, b shard) int { return cmp.Compare(a.k, b.k) }

// small is s with only what Report needs besides the sums. What shards have in common is shared.
func (f *Fold) small(s shard) shard {
	r := *s.Report
	r.Labels, r.Variables = share(f.shared, r.Labels), share(f.shared, r.Variables)
	r.Schedule.Stages = share(f.shared, r.Schedule.Stages)
	r.Latency = map[string]takt.Latency{}
	for _, name := range []string{takt.LatencyResponse, takt.LatencySend, takt.LatencyScheduleLag} {
		if l, ok := s.Latency[name]; ok {
			l.HDR, l.CI, l.Blocks = "", nil, nil
			r.Latency[name] = l
		}
	}
	r.Command, r.Intervals, r.ServerSeconds, r.Status, r.Errors, r.Assertions = nil, nil, nil, nil, nil, nil
	r.Outages, r.Faults = nil, nil
	s.Report = &r
	return s
}

// shared has one value for all that are equal, by type and JSON.
type shared map[string]any

func share[T any](seen shared, v T) T {
	key := fmt.Sprintf("%T %s", v, stored.JSON(v))
	if old, ok := seen[key].(T); ok {
		return old
	}
	seen[key] = v
	return v
}

// sum adds what becomes sums: histograms, intervals, status codes and errors. It returns what of r cannot
// be merged exactly.
func (f *Fold) sum(s shard, r *takt.Report) (faults []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Latency)) {
		if err := f.addLatency(name, r.Latency[name]); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %s time: %v", s.name(), spaced(name), err))
		}
	}
	if err := f.addIntervals(r); err != nil {
		faults = append(faults, fmt.Sprintf("%s: %v", s.name(), err))
	}
	for code, n := range r.Status {
		f.status[code] += n
	}
	f.errors.add(s.k, r.Errors)
	f.outages, f.faults = append(f.outages, r.Outages...), append(f.faults, r.Faults...)
	return faults
}

// addLatency merges one latency of one shard. The latency's count shows whether the histogram is complete:
// it may be missing from the report, or have values beyond the range of takt's histograms.
func (f *Fold) addLatency(name string, l takt.Latency) error {
	h := f.latency[name]
	if h == nil {
		h = new(hist.Sparse)
		f.latency[name] = h
	}
	before := h.Count()
	if err := h.Merge(&f.decoder, l.HDR); err != nil {
		return err
	}
	if n := h.Count() - before; n != l.Count {
		return fmt.Errorf("the histogram contains %d of %d values; use the report that takt wrote", n, l.Count)
	}
	return f.addBlocks(name, l)
}

// addBlocks adds the blocks of one latency of one shard. Shards load one target, so their operations wait in the
// same queues: the blocks are added by the common instants of the schedule before anything is concluded from
// them. If a shard has none, as that of an older takt, the whole has none.
func (f *Fold) addBlocks(name string, l takt.Latency) error {
	sum, found := f.blocks[name]
	switch {
	case l.Count == 0 || found && sum == nil:
		return nil
	case l.Blocks == nil:
		f.blocks[name] = nil
		return nil
	}
	c, err := proof.Read(l.Blocks)
	if err != nil {
		return err
	}
	if n := c.Count(); n != l.Count {
		return fmt.Errorf("the blocks contain %d of %d values; use the report that takt wrote", n, l.Count)
	}
	if !found {
		f.blocks[name] = c
	} else if sum.Merge(c) != nil {
		f.blocks[name] = nil
	}
	return nil
}

// addIntervals adds the intervals to the others of their length. A wrong length is a fault of the shard.
func (f *Fold) addIntervals(r *takt.Report) error {
	if len(r.Intervals) == 0 || !doubles(r.IntervalS) {
		return nil
	}
	g := f.grids[r.IntervalS]
	if g == nil {
		g = newGrid(r.IntervalS)
		f.grids[r.IntervalS] = g
	}
	return g.add(&f.decoder, r.Intervals)
}

// Report returns the whole of what was added. Its errors are *UnmergeableError, with every fault of the
// reports, and *MissingShardsError. More shards may be added afterwards.
func (f *Fold) Report() (*takt.Report, error) {
	list := slices.Clone(f.list)
	slices.SortStableFunc(list, byNumber)
	if faults := append(slices.Clone(f.strays), faultsOf(list)...); len(faults) > 0 {
		return nil, &UnmergeableError{faults}
	}
	if len(list) == 0 {
		return nil, &UnmergeableError{[]string{"there are no reports; give those of all shards"}}
	}
	missing := missingShards(list)
	if missing != nil && !f.options.AllowMissing {
		return nil, missing
	}
	whole := together(list)
	whole.ID, whole.Command = f.options.ID, f.command
	whole.Status, whole.Errors = maps.Clone(f.status), f.errors.list()
	whole.Outages, whole.Faults = outage.Merge(f.outages), byBegin(f.faults)
	outage.Shorten(whole)
	whole.IntervalS = longest(list)
	var err error
	if whole.Intervals, err = f.intervals(whole.IntervalS); err != nil {
		return nil, &UnmergeableError{[]string{err.Error()}}
	}
	dense, err := f.histograms()
	if err != nil {
		return nil, &UnmergeableError{[]string{err.Error()}}
	}
	whole.Latency = map[string]takt.Latency{}
	for name, h := range dense {
		whole.Latency[name] = proof.With(h.Summary(), h, f.blocks[name])
	}
	if felt := whole.Latency[takt.LatencyResponse].Count + whole.Latency[takt.LatencySend].Count; whole.Latency[takt.LatencyOnTime].Count != felt {
		delete(whole.Latency, takt.LatencyOnTime) // a shard of an older takt has none
	}
	facts(whole, list, missing, dense).Judge(whole)
	if whole.Stalls, err = outage.FindStalls(whole); err != nil {
		return nil, &UnmergeableError{[]string{err.Error()}}
	}
	whole.Overload = overload.Find(whole)
	return whole, nil
}

// byBegin sorts the commands of --fault of all shards.
func byBegin(list []takt.Fault) []takt.Fault {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b takt.Fault) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Command, b.Command))
	})
	return list
}

// histograms are those of the latencies, by name.
func (f *Fold) histograms() (map[string]*hist.Histogram, error) {
	all := map[string]*hist.Histogram{}
	for name, sum := range f.latency {
		all[name] = hist.New()
		if err := sum.AddTo(all[name]); err != nil {
			return nil, fmt.Errorf("%s time: %w", spaced(name), err)
		}
	}
	return all, nil
}
