package storetest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// random makes reports of which no two are alike.
type random struct{ *rand.Rand }

// Reports gives n of them, the same for the same seed.
func Reports(seed uint64, n int) (all []*takt.Report) {
	r := random{rand.New(rand.NewPCG(seed, 0))}
	for range n {
		all = append(all, r.report())
	}
	return all
}

func text(t *testing.T, r *takt.Report) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// words has what JSON, SQL and the names of fields may stumble over.
var words = []string{
	"", "p99", "a.b", "a..b", ".", "'; DROP TABLE runs; --", `"\`, "\x00\x1f", "<&>", "größe", "\u2028", "😀", " ",
	"_id", "branch", "revision", "1", "null",
}

func (r random) word() string { return words[r.IntN(len(words))] }

func (r random) text(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[r.IntN(64)]
	}
	return string(b)
}

// float is any that JSON can hold.
func (r random) float() float64 {
	switch r.IntN(4) {
	case 0:
		return float64(r.IntN(1000))
	case 1:
		return r.ExpFloat64() * 1000
	case 2:
		return 0
	}
	for {
		if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
	}
}

// value is what a variable or the extra section may hold.
func (r random) value(depth int) any {
	switch r.IntN(8 + 2*min(depth, 1)) {
	case 0:
		return r.word()
	case 1:
		return r.Uint64() // seeds are of 64 bits: more than a float64 holds
	case 2:
		return -int64(r.Uint64() >> 1)
	case 3:
		return r.IntN(2) == 0
	case 4:
		return nil
	case 8:
		return r.object(depth - 1)
	case 9:
		return []any{r.value(depth - 1), r.value(depth - 1)}
	}
	return r.float()
}

func (r random) object(depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(6) {
		m[r.word()] = r.value(depth)
	}
	return m
}

func (r random) counts() takt.Counts {
	c := takt.Counts{OK: r.Uint64N(1000), Failed: r.Uint64N(3), Dropped: r.Uint64N(3), Unfinished: r.Uint64N(3)}
	c.Scheduled = c.OK + c.Failed + c.Dropped + c.Unfinished
	c.Sent = c.Scheduled - c.Dropped
	return c
}

func (r random) latency() takt.Latency {
	h := hist.New()
	for range 100 {
		h.Record(time.Duration(r.ExpFloat64() * 1e6))
	}
	return takt.Latency{
		Count: 100, Min: r.float(), Mean: r.float(), Stdev: r.float(), P50: r.float(), P99: r.float(), P99_99: r.float(), Max: r.float(),
		HDR: new(hist.Encoder).Encode(h),
	}
}

// small is a report with what each run has.
func (r random) small() *takt.Report {
	return &takt.Report{
		SchemaVersion: takt.SchemaVersion,
		ID:            fmt.Sprintf("01J%s-%d", r.text(8), r.Uint64()),
		Tool:          takt.Tool{Name: "takt", Version: r.word(), Go: "go1.26"},
		Kind:          "http",
		StartedAt:     time.Unix(r.Int64N(4e9), r.Int64N(1e9)).In(time.FixedZone("", 60*r.IntN(600))),
		Counts:        r.counts(),
		Generator:     takt.Generator{HostClass: r.text(3)},
		Verdict:       takt.Valid,
	}
}

// report is a report with all that one can have.
func (r random) report() *takt.Report {
	rep := r.small()
	intended := r.float()
	rep.Command = []string{"takt", "http", r.word()}
	rep.Labels = map[string]string{r.word(): r.word(), "revision": r.text(8), r.word(): r.word()}
	rep.Variables = r.object(3)
	rep.Variables["n"] = r.Uint64() // no two alike
	rep.ComparabilityKey = "sha256:" + r.text(20)
	rep.DurationS, rep.WarmupS, rep.IntervalS = r.float(), r.float(), 1
	rep.Schedule = takt.Schedule{Profile: "constant", RatePerS: r.float(), Stages: []takt.Stage{{DurationS: r.float()}}, Seed: r.Uint64(), Shard: "1/1", RunGroup: r.word()}
	rep.WarmupCounts = r.counts()
	rep.Rate = takt.Rate{Intended: &intended, Achieved: r.float()}
	rep.Bytes = takt.Bytes{Sent: int64(r.Uint64() >> 1), Received: int64(r.Uint64() >> 1)}
	rep.Latency = map[string]takt.Latency{takt.LatencyResponse: r.latency(), takt.LatencyService: r.latency(), r.word(): r.latency()}
	rep.Status = map[string]uint64{r.word(): r.Uint64()}
	rep.Errors = []takt.ErrorClass{{Class: r.word(), Count: r.Uint64(), Sample: r.word(), Body: r.word()}}
	rep.Intervals = []takt.Interval{{T: r.float(), Scheduled: r.Uint64(), HDR: r.text(40)}, {Warmup: true}}
	rep.Generator = takt.Generator{Engine: "loop", CPUS: r.float(), HostClass: r.text(3)}
	rep.Warnings = []takt.Warning{{
		Code: []takt.WarningCode{warn.ClosedLoop, warn.Cancelled}[r.IntN(2)], Message: r.word(), Advice: r.word(),
		Fields: []takt.Field{{Name: r.word(), Value: r.float(), Unit: takt.UnitCount}},
	}}
	rep.Extra = r.object(3)
	rep.Extra["throughput"] = r.IntN(1000) // an int, of which JSON makes a float64
	return rep
}
