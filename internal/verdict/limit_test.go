package verdict

import (
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

func TestOfLimits(t *testing.T) {
	class := func(name string, n uint64) takt.ErrorClass {
		return takt.ErrorClass{Class: name, Count: n, Sample: name + " was reached"}
	}
	for _, c := range []struct {
		name       string
		classes    []takt.ErrorClass
		scheduled  uint64
		failed     uint64
		sample     string
		bottleneck bool
	}{
		{"no failure", nil, 1000, 0, "", false},
		{"the target's failures", []takt.ErrorClass{class("timeout", 900)}, 1000, 0, "", false},
		{"nine", []takt.ErrorClass{class(ClassFiles, 9)}, 10, 9, "too_many_files was reached", false},
		{"ten", []takt.ErrorClass{class(ClassFiles, 10)}, 100, 10, "too_many_files was reached", true},
		{"0.1 %", []takt.ErrorClass{class(ClassPorts, 10)}, 10_000, 10, "no_ports was reached", false},
		{"more than 0.1 %", []takt.ErrorClass{class(ClassPorts, 11)}, 10_000, 11, "no_ports was reached", true},
		{"two limits beside a timeout", []takt.ErrorClass{class("timeout", 500), class(ClassMemory, 7), class(ClassFiles, 5)}, 1000, 12, "no_memory was reached", true},
		{"nothing scheduled", nil, 0, 0, "", false},
	} {
		l := limitsOf(c.classes, c.scheduled)
		if l.Failed != c.failed || l.Sample != c.sample || l.Bottleneck() != c.bottleneck {
			t.Errorf("%s: %+v, bottleneck %v", c.name, l, l.Bottleneck())
		}
	}
}

func TestRetransmitted(t *testing.T) {
	for _, c := range []struct {
		segments, sent uint64
		want           bool
	}{{9, 1, false}, {10, 0, true}, {10, 10_000, false}, {11, 10_000, true}} {
		if got := retransmitted(c.segments, c.sent); got != c.want {
			t.Errorf("%d segments, %d operations: %v", c.segments, c.sent, got)
		}
	}
}
