package audit

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// The largest valid figures. JSON has no exact integers above 2^53, and thousands of such
// counts can be added without overflow. Times in nanoseconds end after 292 years.
const (
	maxCount   = 1 << 53
	maxRate    = 1e12 // per second; a schedule has 10^9 at most
	maxSeconds = 9.2e9
	maxMicros  = 9.2e15
)

// maxNames is the largest number of latencies, status codes or classes of failure.
const maxNames = 1000

// apart are the fields of a report that have checks of their own, or no limits.
func apart() []string {
	return []string{
		"latency", "errors", "intervals", "server_seconds", "stalls", "overload", "outages", "faults", "attribution", // other functions
		"seed", "warnings", "assertions", // any number
	}
}

// ranges refuses numbers that are negative or too large for calculations: those of each field that is not
// apart, so also of a new one.
func (c *checker) ranges() { c.numbers("", reflect.ValueOf(c.r).Elem(), math.MaxFloat64) }

// numbers checks the numbers of a field and of the fields in it, which are most at most if they name no unit.
func (c *checker) numbers(field string, v reflect.Value, most float64) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name != "" && !slices.Contains(apart(), name) {
				c.numbers(strings.TrimPrefix(field+"."+name, "."), v.Field(i), limit(name, most))
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			c.numbers(fmt.Sprintf("%s.%d", field, i), v.Index(i), most)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		c.numbers(field, v.Elem(), most)
	case v.CanInt():
		c.within(field, float64(v.Int()), maxCount)
	case v.CanUint():
		c.count(field, v.Uint())
	case v.CanFloat():
		c.within(field, v.Float(), most)
	}
}

// limit is the largest figure of a field with that name, by its unit; most if the name has none.
func limit(name string, most float64) float64 {
	for _, u := range []struct {
		unit string
		most float64
	}{{"_per_s", maxRate}, {"_s", maxSeconds}, {"_us", maxMicros}} {
		if strings.HasSuffix(name, u.unit) {
			return u.most
		}
	}
	return most
}

func (c *checker) seconds(field string, v float64) { c.within(field, v, maxSeconds) }

func (c *checker) within(field string, v, most float64) {
	switch {
	case v < 0:
		c.fault("%s is %v, below 0", field, v)
	case !(v <= most):
		c.fault("%s is %v, above %v", field, v, most)
	}
}

func (c *checker) count(field string, n uint64) {
	if n > maxCount {
		c.fault("%s is %d, above 2^53", field, n)
	}
}

// counts checks the accounting identity and its partial sums.
func (c *checker) counts() {
	c.ended = c.accounting("counts", c.r.Counts)
	c.warm = c.accounting("warmup_counts", c.r.WarmupCounts)
	if n := len(c.r.Status); n > maxNames {
		c.fault("status has %d codes, more than %d", n, maxNames)
		return
	}
	all := c.r.Counts.OK + c.r.Counts.Failed
	if n := c.sum("status", c.r.Status); n > all {
		c.fault("status counts %d answers, but counts.ok + counts.failed are %d", n, all)
	}
	if n := c.classes(); n > c.r.Counts.Failed {
		c.fault("errors counts %d operations, but counts.failed is %d", n, c.r.Counts.Failed)
	}
}

// classes is the number of failures in all classes.
func (c *checker) classes() uint64 {
	if n := len(c.r.Errors); n > maxNames {
		c.fault("errors has %d classes, more than %d", n, maxNames)
		return 0
	}
	classes := map[string]uint64{}
	for _, e := range c.r.Errors {
		if _, twice := classes[e.Class]; twice {
			c.fault("errors has the class %.40q twice", e.Class)
		}
		classes[e.Class] = e.Count
	}
	return c.sum("errors", classes)
}

// accounting is the number of operations that ended or were cut off.
func (c *checker) accounting(field string, n takt.Counts) uint64 {
	if c.faults != nil {
		return 0 // the sums may overflow
	}
	ended := n.OK + n.Failed + n.Unfinished
	if sum := ended + n.Dropped; sum != n.Scheduled && !c.confessed() {
		c.fault("%s.scheduled is %d, but ok + failed + dropped + unfinished are %d", field, n.Scheduled, sum)
	}
	if n.Sent > ended {
		c.fault("%s.sent is %d, but ok + failed + unfinished are %d", field, n.Sent, ended)
	}
	return ended
}

// confessed reports whether r itself warns that its accounting does not add up, which is a
// fault of takt.
func (c *checker) confessed() bool {
	return c.r.Verdict == takt.Invalid && c.r.Warned(warn.Accounting)
}

// sum adds up counts that are each at most 2^53.
func (c *checker) sum(field string, counts map[string]uint64) (sum uint64) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c.count(fmt.Sprintf("%s.%.40s", field, name), counts[name])
		sum += min(counts[name], maxCount)
	}
	return sum
}

// rounding is the largest relative error of a rate by floating point.
const rounding = 1e-9

// rates compares the rates with their counts.
func (c *checker) rates() {
	r := c.r
	_, sends := r.Latency[takt.LatencyResponse]
	ended, closed := r.Counts.OK+r.Counts.Failed, r.Schedule.Profile == "closed"
	n := c.product(r.Rate.Achieved)
	switch {
	case above(n, ended), closed && sends && below(n, ended) && r.DurationS > 0:
		c.fault("rate_per_s.achieved is %v, %.0f operations in duration_s, but counts.ok + counts.failed are %d", r.Rate.Achieved, n, ended)
	}
	if i := r.Rate.Intended; i != nil && r.DurationS > 0 && below(c.product(*i), r.Counts.Scheduled) {
		c.fault("rate_per_s.intended is %v, %.0f operations in duration_s, but counts.scheduled is %d", *i, c.product(*i), r.Counts.Scheduled)
	}
	if sends && r.Rate.Intended == nil && !closed && r.Schedule.Profile != "" {
		c.fault("rate_per_s.intended is missing, but schedule.profile is %.40q", r.Schedule.Profile)
	}
	if n := r.WarmupCounts.Scheduled; n > 0 && r.WarmupS == 0 {
		c.fault("warmup_s is 0, but warmup_counts.scheduled is %d", n)
	}
}

// product is the number of operations at a rate in the window; without a window there is
// none.
func (c *checker) product(rate float64) float64 {
	if c.r.DurationS == 0 && rate > 0 {
		return math.Inf(1)
	}
	return rate * c.r.DurationS
}

func above(n float64, count uint64) bool { return n > float64(count)*(1+rounding)+0.5 }
func below(n float64, count uint64) bool { return n < float64(count)*(1-rounding)-0.5 }

// ledger checks what the broker says of the messages.
func (c *checker) ledger() {
	l := c.r.Ledger
	if l.Missing > l.Acknowledged {
		c.fault("ledger.missing is %d, more than the %d acknowledged messages", l.Missing, l.Acknowledged)
	}
	if l.Stored == nil {
		return
	}
	if *l.Stored+l.Missing < l.Acknowledged {
		c.fault("ledger.stored and ledger.missing are %d and %d, together fewer than the %d acknowledged messages", *l.Stored, l.Missing, l.Acknowledged)
	}
	if l.Surplus > *l.Stored {
		c.fault("ledger.surplus is %d, more than the %d stored messages", l.Surplus, *l.Stored)
	}
}

// tokens compares the tokens of a language model's answers with the answers and the time.
func (c *checker) tokens() {
	x, has := c.r.Extra[tokens.Key].(map[string]any)
	if !has || c.r.Kind != tokens.Key {
		return
	}
	f, ok := tokens.Of(c.r)
	switch {
	case !ok:
		c.fault("extra.llm has a number or a word that takt does not write: %.200q", fmt.Sprint(x))
	case f.Length > c.r.Counts.OK:
		c.fault("extra.llm.length is %d, but counts.ok is %d", f.Length, c.r.Counts.OK)
	case f.Output > 0 && c.r.Counts.OK == 0:
		c.fault("extra.llm.output_tokens is %d, but counts.ok is 0", f.Output)
	case above(c.product(f.PerS()), f.Output):
		c.fault("extra.llm.output_tokens_per_s is %v, %.0f tokens in duration_s, but extra.llm.output_tokens is %d", f.PerS(), c.product(f.PerS()), f.Output)
	}
}
