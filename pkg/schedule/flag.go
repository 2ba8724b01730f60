package schedule

import "time"

// DurationValue is a time.Duration as a flag, read by ParseDuration:
//
//	fs.Var((*schedule.DurationValue)(&d), "duration", "how long to run")
type DurationValue time.Duration

// Set reads s.
func (v *DurationValue) Set(s string) error {
	d, err := ParseDuration(s)
	if err == nil {
		*v = DurationValue(d)
	}
	return err
}

// String is the duration in Go's notation, which Set reads.
func (v *DurationValue) String() string { return time.Duration(*v).String() }

// Get is the time.Duration.
func (v *DurationValue) Get() any { return time.Duration(*v) }

// RateValue is a rate per second as a flag, read by ParseRate; "max" is +Inf.
type RateValue float64

// Set reads s.
func (v *RateValue) Set(s string) error {
	r, err := ParseRate(s)
	if err == nil {
		*v = RateValue(r)
	}
	return err
}

// String is the rate as FormatRate writes it; "" for 0, a rate that is not set.
func (v *RateValue) String() string {
	if *v == 0 {
		return ""
	}
	return FormatRate(float64(*v))
}

// Get is the rate per second, a float64.
func (v *RateValue) Get() any { return float64(*v) }
