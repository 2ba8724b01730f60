package takt

// Blocks counts the values of a latency by when their operations were due: in equal parts of the schedule, by
// size. They show how far operations depend on one another, and so how exact a percentile is. Blocks of
// shards are added by the common instants of their schedule.
type Blocks struct {
	LengthS float64 `json:"length_s"` // of a block; the first one begins with the measured time
	Counts  string  `json:"counts"`   // base64 of internal/judge/proof
}

// Confidence has intervals of percentiles: each contains the percentile of the target as it behaved during the
// run with a probability. Nil: not known, because the run has too few operations that do not depend on one
// another, or no more is known than that the percentile is not above the maximum.
type Confidence struct {
	Level       float64 `json:"level"`       // 0.95
	Independent float64 `json:"independent"` // as many independent operations would say as much, at the worst of p50, p75 and p90
	P50         *Range  `json:"p50_us,omitempty"`
	P75         *Range  `json:"p75_us,omitempty"`
	P90         *Range  `json:"p90_us,omitempty"`
	P95         *Range  `json:"p95_us,omitempty"`
	P99         *Range  `json:"p99_us,omitempty"`
	P99_9       *Range  `json:"p99_9_us,omitempty"`
	P99_99      *Range  `json:"p99_99_us,omitempty"`
}

// Range is an interval with its ends.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Proof is what a run proves of an assertion.
type Proof struct {
	Level    float64  `json:"level"`              // confidence: 0.95
	Proven   bool     `json:"proven"`             // that the figure of the target is on the side of the bound on which that of the run is
	Limit    *float64 `json:"limit,omitempty"`    // what is proven: the figure is below it, or above it, as it is to the bound; in the unit of the value
	Needs    uint64   `json:"needs,omitempty"`    // about how many operations could prove it; 0: unknown
	NeedsS   float64  `json:"needs_s,omitempty"`  // for how long, at the rate of this run
	Why      string   `json:"why,omitempty"`      // not proven for another reason than the number of operations
	Required bool     `json:"required,omitempty"` // the assertion passes only if it is proven
}

// Claim is a sentence about the target, as it behaved during the run, that a run supports, or that it does not.
type Claim struct {
	Text      string  `json:"text"`
	Supported bool    `json:"supported"`
	Level     float64 `json:"level,omitempty"` // confidence: 0.95; 0: the claim is a fact of the run
}
