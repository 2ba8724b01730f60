package process

import (
	"fmt"
	"os"
	"testing"

	"github.com/taktload/takt/internal/timeline"
)

func TestLogSample(t *testing.T) {
	l := NewLog()
	for range 2 * LogLines { // more than it keeps
		fmt.Fprint(l, "2026\tERROR\tx.go:1\tno\nWARN a\nINFO b\n")
	}
	fmt.Fprint(l, "ERROR without an end")
	r, ok := l.Sample(t.Context())
	if !ok || r[timeline.Errors] != 2*LogLines || r[timeline.Warnings] != 2*LogLines {
		t.Error(r, ok)
	}
}

// The CPU time of processes that come and go: a new one adds its own, and one that has ended makes
// the sum unknown once.
func TestFamily(t *testing.T) {
	self, parent := os.Getpid(), os.Getppid()
	var pids []int
	source := Timeline(func() []int { return pids })[0]
	known := func() (float64, bool, bool) {
		r, ok := source(t.Context())
		cpu, has := r[timeline.CPU]
		return cpu, has, ok
	}
	if _, _, ok := known(); ok {
		t.Error("no process has figures")
	}
	pids = []int{self}
	first, has, ok := known()
	if !ok {
		t.Skip("this system shows no processes")
	}
	pids = []int{self, parent}
	second, more, _ := known()
	pids = []int{self, 1 << 30}
	_, lost, _ := known()
	third, again, _ := known()
	if !has || !more || lost || !again || second < first || third < second {
		t.Errorf("%v %v %v %v: %v %v %v", has, more, lost, again, first, second, third)
	}
}
