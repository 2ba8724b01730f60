package bench

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/taktload/takt/pkg/schedule"
)

// count is a whole number.
type count int

// Set implements flag.Value.
func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("not a whole number; give at least 1")
	}
	*c = count(n)
	return nil
}

// String implements flag.Value.
func (c *count) String() string { return strconv.Itoa(int(*c)) }

// Get implements flag.Getter.
func (c *count) Get() any { return int(*c) }

// rate is a number in wrk3's or takt's notation: 10000, 1e4, 10k, 600k/m, max.
type rate float64

// Set implements flag.Value.
func (r *rate) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		f, err = schedule.ParseRate(s)
	}
	if err == nil {
		*r = rate(f)
	}
	return err
}

// String implements flag.Value.
func (r *rate) String() string {
	if math.IsInf(float64(*r), 1) {
		return "max"
	}
	return strconv.FormatFloat(float64(*r), 'f', -1, 64)
}

// Get implements flag.Getter.
func (r *rate) Get() any { return float64(*r) }

// drain is a time for which 0 means no drain; Benchmark.Drain uses a negative time for that.
type drain time.Duration

// Set implements flag.Value.
func (d *drain) Set(s string) error {
	t, err := schedule.ParseDuration(s)
	if t == 0 {
		t = -1
	}
	if err == nil {
		*d = drain(t)
	}
	return err
}

// String implements flag.Value.
func (d *drain) String() string { return max(0, time.Duration(*d)).String() }

// Get implements flag.Getter.
func (d *drain) Get() any { return max(0, time.Duration(*d)) }
