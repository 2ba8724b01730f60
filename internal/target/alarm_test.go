package target

import (
	"testing"
	"time"
)

// A ring ends the sleep that was planned before it, also if it comes first: ten
// sleeps that would take a second each without it.
func TestAlarmRings(t *testing.T) {
	a := newAlarm()
	a.begin(time.Now())
	began := time.Now()
	for range 5 {
		for _, until := range []time.Duration{forever, time.Hour} {
			n := a.nap(until)
			a.ring()
			a.sleep(n)
		}
	}
	if took := time.Since(began); took > 5*maxNap {
		t.Errorf("ten rings took %v", took)
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
