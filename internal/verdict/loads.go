package verdict

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// ShardLoad is what a shard used of its host.
type ShardLoad struct {
	Shard     string  // k/n
	Host      string  // name of the machine; "": unknown
	Limited   bool    // its generator was the bottleneck
	Disturbed bool    // it waited for its CPU, so what it did not use was not there for it
	CPU, Time float64 // CPU seconds; length of the run, seconds
	Cores     int     // number of cores that it can use; 0: unknown
	HostCores int     // number of cores of its host
}

// busy is the used part of the CPU that the shard can use.
func (l ShardLoad) busy() (share float64, known bool) {
	if l.Cores <= 0 || l.Time <= 0 || l.CPU <= 0 {
		return 0, false
	}
	return l.CPU / (float64(l.Cores) * l.Time), true
}

// generators says which shards were the bottleneck, and what the others had left: whoever spreads the load
// over more shards, or in another way, needs both.
func (s *Shards) generators(r *takt.Report) {
	var limited []string
	var others []ShardLoad
	for _, l := range s.Loads {
		if l.Limited {
			limited = append(limited, l.Shard)
		} else {
			others = append(others, l)
		}
	}
	switch {
	case len(limited) == 0:
	case len(others) == 0:
		r.Warn(warn.ShardsLimited, "the generator was the bottleneck in all %d shards; %s", takt.Number("limited", len(limited)), takt.Advice("lower the rate, or spread the run over more shards"))
	default:
		r.Warn(warn.ShardsLimited, "the generator was the bottleneck in %d of %d shards (%s)%s", takt.Number("limited", len(limited)), takt.Number("shards", len(s.Loads)), Named(limited), s.left(others))
	}
}

// left says how much CPU the shards that were no bottleneck had left. It is empty if one of them does not
// say what it used.
func (s *Shards) left(others []ShardLoad) string {
	most, room := 0.0, true
	hosts := s.hosts()
	for _, l := range others {
		busy, known := l.busy()
		if !known {
			return ""
		}
		host, alone := hosts[l.Host]
		room = room && alone && !l.Disturbed
		most = max(most, busy, host)
	}
	used := fmt.Sprintf("; the others used at most %.0f %% of the CPU that they can use", 100*most)
	// The bound is that of generator_saturated. What is beyond ten times was never seen.
	if times := busyMost / most; room && times > 1.1 {
		return used + fmt.Sprintf(", which leaves room for up to %.1f times their rate", min(10, times))
	}
	return used
}

// hosts are the used parts of all cores of the named hosts: several shards on one host have its room once.
func (s *Shards) hosts() map[string]float64 {
	used := map[string]float64{}
	for _, l := range s.Loads {
		if l.Host != "" && l.HostCores > 0 && l.Time > 0 {
			used[l.Host] += l.CPU / (float64(l.HostCores) * l.Time)
		}
	}
	return used
}

// Of more shards than mostNamed a sentence names the first fewNamed.
const (
	mostNamed = 8
	fewNamed  = 3
)

// Named lists shards in a sentence.
func Named(shards []string) string {
	if len(shards) <= mostNamed {
		return strings.Join(shards, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(shards[:fewNamed], ", "), len(shards)-fewNamed)
}
