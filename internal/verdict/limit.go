package verdict

import "github.com/taktload/takt/pkg/takt"

// The classes of operations that failed because the generator or its host had no more of
// something. The target had no part in them.
const (
	ClassFiles  = "too_many_files" // open files
	ClassPorts  = "no_ports"       // local ports
	ClassMemory = "no_memory"      // buffers of the kernel
)

const (
	limitShare   = 0.001 // of the operations may fail so …
	limitAtLeast = 10    // … or fewer than this many
)

// Limited is how often operations failed through a limit of the generator or its host.
type Limited struct {
	Failed uint64
	Share  float64 // of the operations scheduled, 0 to 1
	Sample string  // of the class that failed most: the limit, its figure and the remedy
}

// OfLimits looks for such failures among the classes of a run, most frequent first.
func OfLimits(classes []takt.ErrorClass, scheduled uint64) (l Limited) {
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

// Bottleneck reports whether the limit shaped the figures: at least 10 operations, and
// more than 0.1 % of all, failed through it.
func (l Limited) Bottleneck() bool { return l.Failed >= limitAtLeast && l.Share > limitShare }

// Retransmitted reports whether TCP sent so many segments again that latencies hold its
// timeouts: at least 10, and more than 0.1 % of the operations. The target and its network
// answer for that, so the run stays valid.
func Retransmitted(segments, sent uint64) bool {
	return segments >= limitAtLeast && float64(segments) > limitShare*float64(sent)
}

// IsLimit reports whether the class is one of those.
func IsLimit(class string) bool {
	switch class {
	case ClassFiles, ClassPorts, ClassMemory:
		return true
	}
	return false
}
