package audit

import (
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// verdict compares the verdict with the warnings, and judges the lateness again.
func (c *checker) verdict() {
	r := c.r
	switch r.Verdict {
	case takt.Invalid:
		return
	case takt.Valid:
	default:
		c.fault("verdict is %.40q, neither %q nor %q", string(r.Verdict), takt.Valid, takt.Invalid)
		return
	}
	for _, code := range verdict.Refutes(r.Warnings) {
		c.fault("verdict is %q, but a run with the warning %s is invalid", r.Verdict, code)
	}
	if r.Rate.Intended != nil && c.faults == nil {
		verdict.Rejudge(r, verdict.Delays{
			OnTime: c.histogram(verdict.OnTime(r.Latency)), Lag: c.histogram(takt.LatencyScheduleLag), Dial: c.histogram(verdict.DialPhase),
		})
	}
}

// histogram is the histogram of a checked latency; empty if there is none.
func (c *checker) histogram(name string) *hist.Histogram {
	h := hist.New()
	_ = c.reader.decoder.Merge(h, c.r.Latency[name].HDR) // already read without an error
	return h
}
