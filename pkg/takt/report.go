package takt

import (
	"fmt"
	"strings"
	"time"
)

// SchemaVersion is the version of the report's JSON form. It changes when a field's meaning
// changes, not with new fields.
const SchemaVersion = 1

// MaxIntervals is the largest number of intervals in a report; longer runs merge neighbours.
const MaxIntervals = 1200

// Report is the complete result of one run. It is plain data: formats, the store, collate and
// verify read only the report. Fields named _us are microseconds, _s seconds; rates are per
// second, sizes bytes.
type Report struct {
	SchemaVersion    int                `json:"schema_version"`
	ID               string             `json:"id"` // ULID
	Tool             Tool               `json:"tool"`
	Kind             string             `json:"kind"`
	Command          []string           `json:"command"`           // secrets redacted
	Labels           map[string]string  `json:"labels"`            // labels of the thing under test
	Variables        map[string]any     `json:"variables"`         // every setting that shapes the load or the target
	ComparabilityKey string             `json:"comparability_key"` // runs with equal keys can be compared
	StartedAt        time.Time          `json:"started_at"`
	DurationS        float64            `json:"duration_s"` // length of the measured window
	WarmupS          float64            `json:"warmup_s"`
	IntervalS        float64            `json:"interval_s"`
	Schedule         Schedule           `json:"schedule"`
	Counts           Counts             `json:"counts"`
	WarmupCounts     Counts             `json:"warmup_counts"`
	Rate             Rate               `json:"rate_per_s"`
	Goodput          *Goodput           `json:"goodput,omitempty"` // nil: operations have no conditions
	Bytes            Bytes              `json:"bytes"`
	Latency          map[string]Latency `json:"latency"` // by name, see the Latency constants
	Status           map[string]uint64  `json:"status"`  // by the driver's result code
	Errors           []ErrorClass       `json:"errors"`  // most frequent first
	Intervals        []Interval         `json:"intervals"`
	ServerSeconds    []ServerSecond     `json:"server_seconds,omitempty"` // the server under test, if takt watched it
	Stalls           []Stall            `json:"stalls,omitzero"`          // times in which the target answered nothing; nil: of an older takt
	Overload         *Overload          `json:"overload,omitempty"`       // of the target at the end of the schedule; nil: none, or of an older takt
	Outages          []Outage           `json:"outages,omitempty"`        // when the target could not be reached, if the driver sees that
	Faults           []Fault            `json:"faults,omitempty"`         // commands of --fault, by begin
	Exports          []Export           `json:"exports,omitempty"`        // what became of the figures of --export
	Ledger           Ledger             `json:"ledger,omitzero"`          // what the broker says; absent if it was not asked
	Attribution      Attribution        `json:"attribution,omitzero"`     // absent without answers, or from an older takt
	Generator        Generator          `json:"generator"`
	Warnings         []Warning          `json:"warnings"`
	Words            Words              `json:"-"` // of the warnings
	Verdict          Verdict            `json:"verdict"`
	Assertions       []Assertion        `json:"assertions,omitempty"` // in the given order
	Claims           []Claim            `json:"claims,omitempty"`     // what the run supports, and then what it does not; at most 5; nil: of an older takt
	Extra            map[string]any     `json:"extra"`                // the driver's own section
}

// Names of the latencies that every run with a schedule has. Drivers add more
// by the names of their phases.
const (
	LatencyResponse    = "response"
	LatencyResponseOK  = "response_ok"
	LatencyService     = "service"
	LatencySendDelay   = "send_delay"
	LatencyScheduleLag = "schedule_lag"
)

// LatencyOnTime is the response time, or the send time, without the part that the generator itself was
// late. Reports of older versions have none.
const LatencyOnTime = "on_time"

// LatencySend replaces the response and service time if there are no answers: from due until
// the operation was written. See Driver.OneWay.
const LatencySend = "send"

// Verdict says whether the figures show the target.
type Verdict string

// The verdicts. Invalid: the generator, not the target, shaped the figures.
const (
	Valid   Verdict = "valid"
	Invalid Verdict = "invalid"
)

// Tool is the program that made a report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Go      string `json:"go"`
}

// Schedule describes when operations were due.
type Schedule struct {
	Profile   string  `json:"profile"`              // constant, ramp, steps, replay or closed
	Arrivals  string  `json:"arrivals"`             // uniform, poisson, gamma:CV, like:LOG or recorded
	GapCV     float64 `json:"gap_cv,omitempty"`     // coefficient of variation (standard deviation ÷ mean) of the gaps of the log in like:LOG
	RatePerS  float64 `json:"rate_per_s,omitempty"` // rate of a constant profile
	Stages    []Stage `json:"stages,omitempty"`
	Seed      uint64  `json:"seed,omitempty"`
	Shard     string  `json:"shard"`                // k/n
	ShardFrom string  `json:"shard_from,omitempty"` // the variables that Shard is from, with --shard auto
	RunGroup  string  `json:"run_group,omitempty"`
}

// WholeShard is the Shard of a run that is not one of several.
const WholeShard = "1/1"

// IsShard reports whether a text of Schedule.Shard is that of one run of several. Reports of old
// versions have none.
func IsShard(shard string) bool { return shard != "" && shard != WholeShard }

// Stage is a period in which the rate changes linearly from From to To.
type Stage struct {
	DurationS float64 `json:"duration_s"`
	From      float64 `json:"from_per_s"`
	To        float64 `json:"to_per_s"`
}

// Counts are the numbers of operations. Always Scheduled = OK + Failed + Dropped +
// Unfinished.
type Counts struct {
	Scheduled  uint64 `json:"scheduled"`
	Sent       uint64 `json:"sent"`
	OK         uint64 `json:"ok"`
	Failed     uint64 `json:"failed"`
	Dropped    uint64 `json:"dropped"`    // never sent: a configured limit was reached, or an earlier step of a scenario failed
	Unfinished uint64 `json:"unfinished"` // in flight or queued when the drain time ended
}

// Plus is the sum of c and o.
func (c Counts) Plus(o Counts) Counts {
	return Counts{
		c.Scheduled + o.Scheduled, c.Sent + o.Sent, c.OK + o.OK,
		c.Failed + o.Failed, c.Dropped + o.Dropped, c.Unfinished + o.Unfinished,
	}
}

// Plus is the sum of b and o.
func (b Bytes) Plus(o Bytes) Bytes { return Bytes{b.Sent + o.Sent, b.Received + o.Received} }

// Rate is the intended and the achieved rate, in operations per second of the measured
// window.
type Rate struct {
	Intended *float64 `json:"intended"` // nil: closed loop
	Achieved float64  `json:"achieved"`
}

// Goodput counts the operations that met all conditions of --slo. The others of all scheduled operations did not meet
// them, or failed, or were never sent, or takt does not know.
type Goodput struct {
	SLO       string            `json:"slo"`                 // the conditions
	Good      uint64            `json:"good"`                // they met all
	Undecided uint64            `json:"undecided,omitempty"` // they ended well, and takt read too late to know
	Percent   float64           `json:"percent"`             // Good, as a share of all scheduled operations
	PerS      float64           `json:"per_s"`               // Good, per second of the measured time
	Missed    map[string]uint64 `json:"missed,omitempty"`    // operations that ended well and did not meet the condition, by condition
}

// Of sets the share and the rate, for so many scheduled operations in so many seconds.
func (g *Goodput) Of(scheduled uint64, seconds float64) {
	g.Percent, g.PerS = 0, 0
	if scheduled > 0 {
		g.Percent = 100 * float64(g.Good) / float64(scheduled)
	}
	if seconds > 0 {
		g.PerS = float64(g.Good) / seconds
	}
}

// Bytes counts bytes on the wire.
type Bytes struct {
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
}

// Latency summarises one histogram. All percentiles come from it; HDR is the histogram itself
// (V2 compressed encoding, nanoseconds, base64).
type Latency struct {
	Count  uint64  `json:"count"`
	Min    float64 `json:"min_us"`
	Mean   float64 `json:"mean_us"`
	Stdev  float64 `json:"stdev_us"`
	P50    float64 `json:"p50_us"`
	P75    float64 `json:"p75_us"`
	P90    float64 `json:"p90_us"`
	P95    float64 `json:"p95_us"`
	P99    float64 `json:"p99_us"`
	P99_9  float64 `json:"p99_9_us"`
	P99_99 float64 `json:"p99_99_us"`
	Max    float64 `json:"max_us"`
	HDR    string  `json:"hdr"`
	// CI and Blocks are of the response time, or the send time; nil: not known, or of an older takt.
	CI     *Confidence `json:"ci,omitempty"`
	Blocks *Blocks     `json:"blocks,omitempty"`
}

// ErrorClass counts the failed operations of one class and has the first error.
type ErrorClass struct {
	Class  string `json:"class"`
	Count  uint64 `json:"count"`
	Sample string `json:"sample,omitempty"` // at most 300 bytes
	Body   string `json:"body,omitempty"`   // shortened, without secrets
}

// Interval is a part of a run, one second long while the run goes. Scheduled counts by due,
// the other fields by end.
type Interval struct {
	T              float64           `json:"t_s"` // end of the interval, since the start of the run
	Warmup         bool              `json:"warmup"`
	Scheduled      uint64            `json:"scheduled"`
	OK             uint64            `json:"ok"`
	Failed         uint64            `json:"failed"`
	Dropped        uint64            `json:"dropped"`
	Errors         map[string]uint64 `json:"errors,omitempty"` // failed operations by class, without those of the warm-up
	Bytes          Bytes             `json:"bytes,omitzero"`   // without those of the warm-up; absent from an older takt
	InFlightMax    int               `json:"in_flight_max"`
	ResponseP50    float64           `json:"response_p50_us"`
	ResponseP99    float64           `json:"response_p99_us"`
	ResponseMax    float64           `json:"response_max_us"`
	ScheduleLagP99 float64           `json:"schedule_lag_p99_us"`
	Good           *uint64           `json:"good,omitempty"` // as in Goodput, by end, without the warm-up; nil: operations have no conditions
	Lag            *int64            `json:"lag,omitempty"`  // messages that a consumer had not read at the end of the interval; nil: nobody consumes
	HDR            string            `json:"hdr"`            // response time, as in Latency
	ServiceHDR     string            `json:"service_hdr"`    // service time

	Latency map[string]Course `json:"latency,omitempty"` // of Timed with Course that were measured, by name, without the warm-up
}

// Course is a latency in an interval. It counts when it happened, and not when the operation ended.
type Course struct {
	P50 float64 `json:"p50_us"`
	P99 float64 `json:"p99_us"`
	Max float64 `json:"max_us"`
	HDR string  `json:"hdr"`
}

// Stall is a time in which the target answered nothing, as exactly as intervals tell.
type Stall struct {
	FromS     float64 `json:"from_s"`     // begin, since the start of the run
	ToS       float64 `json:"to_s"`       // end
	LongestUS float64 `json:"longest_us"` // longest wait of an operation, or with timeouts the time without an answer
	Held      uint64  `json:"held"`       // operations that waited for the end, timed out or were dropped meanwhile
}

// Overload is a backlog that grew up to the end of the schedule, because the target completed less than was
// due. Percentiles of such a run measure its length.
type Overload struct {
	FromS         float64 `json:"from_s"`              // begin, since the start of the run
	DuePerS       float64 `json:"due_per_s"`           // since then
	CompletedPerS float64 `json:"completed_per_s"`     // since then, well or with an error
	GrowthUSPerS  float64 `json:"growth_us_per_s"`     // by which an operation that was due a second later took longer: due ÷ completed − 1
	InFlight      int     `json:"in_flight,omitempty"` // limit in flight, if it was reached at the end: it may be why no more completed
}

// ServerSecond is a part of a run as the server under test saw it, one second long while the run
// is short. Its limits are not those of the intervals: takt reads the server once a second from
// before the run on.
type ServerSecond struct {
	From    float64            `json:"from_s"` // since the start of the run, like T; below 0 for the first one
	T       float64            `json:"t_s"`
	Figures map[string]float64 `json:"figures"` // those that are known, by name; of counters the change
}

// PlusErrors is the sum of two counts by class; a may change.
func PlusErrors(a, b map[string]uint64) map[string]uint64 {
	if len(b) > 0 && a == nil {
		a = make(map[string]uint64, len(b))
	}
	for class, n := range b {
		a[class] += n
	}
	return a
}

// Generator is what the run cost the generator.
type Generator struct {
	Engine       string  `json:"engine"` // loop, worker or async
	Loops        int     `json:"loops"`
	GOMAXPROCS   int     `json:"gomaxprocs"`
	CPUS         float64 `json:"cpu_s"`
	MaxRSS       int64   `json:"max_rss_bytes"`
	GCCycles     uint32  `json:"gc_cycles"`
	GCPauseMaxUS float64 `json:"gc_pause_max_us"`
	Stolen       float64 `json:"stolen_percent,omitempty"` // part of all cores' CPU time that the hypervisor took
	WaitedS      float64 `json:"waited_s,omitempty"`       // time for which its threads waited for a core, summed
	ThrottledS   float64 `json:"throttled_s,omitempty"`    // time for which its cgroup was throttled by the CPU quota
	Retransmits  uint64  `json:"retransmits,omitempty"`    // TCP segments that this network namespace sent again, for all processes
	// OwnRetransmits are those of the run's own connections to the target; nil: unknown.
	OwnRetransmits *uint64 `json:"own_retransmits,omitempty"`
	Cores          int     `json:"cores"`
	HostClass      string  `json:"host_class"`               // runs on hosts of the same class can be compared
	NoiseFloorUS   float64 `json:"noise_floor_us,omitempty"` // only when calibrated
}

// Assertion is a condition for the report, and its result.
type Assertion struct {
	Expression string   `json:"expression"` // as given: p99<250ms
	Result     Outcome  `json:"result"`
	Value      *float64 `json:"value"` // nil: the report has no such figure
	Unit       Unit     `json:"unit"`  // unit of the value
	Reason     string   `json:"reason"`
	Proof      *Proof   `json:"proof,omitempty"` // nil: the figure is a fact of the run, or the report is of an older takt
}

// String is the printed line: PASS p99<250ms (p99 was 12.3ms).
func (a Assertion) String() string {
	return fmt.Sprintf("%s %s (%s)", strings.ToUpper(string(a.Result)), a.Expression, a.Reason)
}

// Outcome says whether a report met an assertion.
type Outcome string

// The outcomes. Void: the assertion says nothing about the target, because the run is invalid
// or no operation succeeded.
const (
	Pass Outcome = "pass"
	Fail Outcome = "fail"
	Void Outcome = "void"
	// Unproven: the report met the assertion, but does not prove it, and a proof was required.
	Unproven Outcome = "unproven"
)

// Unit is the unit of the value of an assertion or of a field.
type Unit string

// The units.
const (
	UnitCount        Unit = "count"
	UnitMicroseconds Unit = "us"
	UnitPercent      Unit = "percent"
	UnitPerSecond    Unit = "per_s"
	UnitSeconds      Unit = "s"
	UnitBytes        Unit = "bytes"
)
