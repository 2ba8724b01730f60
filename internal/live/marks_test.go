package live

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

func ptr(v float64) *float64 { return &v }

// troubled is the minute with a fault after 20.2 s and an outage from 20.4 s to 25.1 s. The view
// learns of both once a second.
func troubled(seconds int) *State {
	s := New(head())
	for n := range seconds {
		snap := second(n)
		if snap.Interval.T > 20.4 {
			snap.Faults = []takt.Fault{{Command: "kill -9 \x1b[2J 4711", From: 20.2, To: ptr(20.3)}}
			snap.Outage = &takt.Outage{From: 20.4, Parts: 3, First: "partition 4", Cause: "dial tcp 127.0.0.1:9092: connect:\nconnection refused"}
			if snap.Interval.T > 25.1 {
				snap.Outage.To = ptr(25.1)
			}
		}
		s.Add(snap)
	}
	return s
}

func TestMarks(t *testing.T) {
	golden(t, filepath.Join("testdata", "outage-80x24.txt"), strings.Join(troubled(23).View(moment(23), 80, 24, Mono), "\n")+"\n")
	golden(t, filepath.Join("testdata", "outage-over-120x40.txt"), strings.Join(troubled(47).View(moment(47), 120, 40, Mono), "\n")+"\n")
	for _, size := range [][2]int{{1, 1}, {20, 3}, {40, 8}, {80, 12}, {300, 90}} {
		for _, l := range troubled(30).View(moment(30), size[0], size[1], Mono) {
			if strings.ContainsAny(l, "\x1b\n") || len([]rune(l)) > size[0] {
				t.Errorf("%v: %q", size, l)
			}
		}
	}
}

// An outage that is noticed at its end marks the seconds before.
func TestLateMark(t *testing.T) {
	s := after(head(), 30)
	snap := second(30)
	snap.Outage = &takt.Outage{From: 26.5, To: ptr(30.5), Parts: 1, First: "partition 0", Cause: "no answer for 4s"}
	s.Add(snap)
	got := ""
	for _, c := range s.newest(8) {
		got += map[bool]string{true: "x", false: "."}[c.mark == markOutage]
	}
	if got != "...xxxxx" {
		t.Error(got)
	}
}

// Without a driver that knows of outages, two seconds in which nothing ends show it.
func TestMute(t *testing.T) {
	s := after(head(), 10)
	for n := range 3 {
		s.Add(Snapshot{Interval: takt.Interval{T: float64(11 + n), Scheduled: rate, InFlightMax: 100}})
	}
	text := strings.Join(s.View(moment(13), 80, 24, Mono), "\n")
	if !strings.Contains(text, "no operation has ended for 3s") {
		t.Error(text)
	}
	s.Add(second(13))
	if text := strings.Join(s.View(moment(14), 80, 24, Mono), "\n"); strings.Contains(text, "no operation has ended") {
		t.Error(text)
	}
}
