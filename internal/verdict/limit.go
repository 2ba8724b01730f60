package verdict

import "github.com/taktload/takt/pkg/takt"

// The classes of operations that failed because the generator or its host was at a limit. The
// target is not the cause.
const (
	ClassFiles  = "too_many_files" // open files
	ClassPorts  = "no_ports"       // local ports
	ClassMemory = "no_memory"      // buffers of the kernel
)

const (
	limitShare   = 0.001 // largest part of operations that may fail at a limit
	limitAtLeast = 10    // fewer failures than this are always acceptable
)

// limited is how often operations failed at a limit of the generator or its host.
type limited struct {
	Failed uint64
	Share  float64 // part of the scheduled operations, 0 to 1
	Sample string  // error of the most frequent class: the limit, its figure and the remedy
}

// limitsOf counts the failures at a limit in the classes of a run, which are sorted by
// frequency.
func limitsOf(classes []takt.ErrorClass, scheduled uint64) (l limited) {
	for _, c := range classes {
		if !IsLimit(c.Class) {
			continue
		}
		l.Failed += c.Count
		if l.Sample == "" {
			l.Sample = c.Sample
		}
	}
	l.Share = float64(l.Failed) / float64(max(1, scheduled))
	return l
}

// Bottleneck reports whether the limit shaped the figures: at least 10 operations, and more
// than 0.1 % of all, failed at it.
func (l limited) Bottleneck() bool { return l.Failed >= limitAtLeast && l.Share > limitShare }

// retransmitted reports whether TCP sent so many segments again that latencies hold its
// timeouts: at least 10, and more than 0.1 % of the operations. The target and its network
// answer for that, so the run stays valid.
func retransmitted(segments, sent uint64) bool {
	return segments >= limitAtLeast && float64(segments) > limitShare*float64(sent)
}

// IsLimit reports whether the class is one of a limit.
func IsLimit(class string) bool {
	switch class {
	case ClassFiles, ClassPorts, ClassMemory:
		return true
	}
	return false
}
