package proof

import (
	"fmt"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Samples are the samples of a report's latencies. Each is decoded when somebody first asks for it, and then kept.
type Samples struct {
	report *takt.Report
	known  map[string]*Sample
}

// SamplesOf are those of a report.
func SamplesOf(r *takt.Report) *Samples { return &Samples{r, map[string]*Sample{}} }

// Main is the name of the latency whose operations the report counts by block: the response time, or the send time
// where nobody answers.
func Main(r *takt.Report) string {
	if r.Latency[takt.LatencyResponse].Count == 0 {
		return takt.LatencySend
	}
	return takt.LatencyResponse
}

// Of is the sample of a latency; nil: the report does not say how its operations depend on one another.
func (s *Samples) Of(name string) *Sample {
	if one, known := s.known[name]; known {
		return one
	}
	one := s.decode(name)
	s.known[name] = one
	return one
}

func (s *Samples) decode(name string) *Sample {
	l := s.report.Latency[name]
	switch main := Main(s.report); {
	case name == main || l.Blocks != nil:
		one, _ := SampleOf(l)
		return one
	case name == takt.LatencyResponseOK || name == takt.LatencyService || name == takt.LatencyOnTime:
		like := s.Of(main)
		if like == nil {
			return nil
		}
		if h, err := hist.Decode(l.HDR); err == nil && h.Count() > 0 {
			return like.Like(h)
		}
	}
	return nil
}

// Amount is so many operations as a run of r's kind needs, and how long they take at its rate; 0: unknown.
func Amount(r *takt.Report, operations float64) (n uint64, seconds float64) {
	operations = Rounded(operations)
	if r.DurationS > 0 && r.Counts.Scheduled > 0 {
		seconds = Rounded(operations / float64(r.Counts.Scheduled) * r.DurationS)
	}
	return uint64(operations), seconds
}

// AmountWords are an amount for people.
func AmountWords(r *takt.Report, n uint64, seconds float64) string {
	words := fmt.Sprintf("about %d operations", n)
	if seconds > 0 {
		words += ", " + Length(r, seconds) + " at this rate"
	}
	return words
}
