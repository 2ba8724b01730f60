package target

import (
	"testing"
	"time"
)

// A ring ends the sleep that was planned before it, also if it comes first: one of ten on the busiest
// machine, and none without rings.
func TestAlarmRings(t *testing.T) {
	a := newAlarm()
	a.begin(time.Now())
	for _, until := range []time.Duration{forever, time.Hour} {
		rung := false
		for n := 0; n < 10 && !rung; n++ {
			began, nap := time.Now(), a.nap(until)
			a.ring()
			a.sleep(nap)
			rung = time.Since(began) < maxNap
		}
		if !rung {
			t.Errorf("no ring ended a sleep until %v", until)
		}
	}
}

// A sleep is not over before its instant.
func TestAlarmIsNotEarly(t *testing.T) {
	a, origin := newAlarm(), time.Now()
	a.begin(origin)
	for i := range 20 {
		until := time.Duration(i) * ms
		a.sleep(a.nap(until))
		if now := time.Since(origin); now < until-ms/10 {
			t.Errorf("woke at %v, asked for %v", now, until)
		}
	}
}
