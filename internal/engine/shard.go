package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is the value of --shard: this run sends every n-th operation of the schedule, from the
// k-th on. The zero Shard sends all.
type Shard struct{ k, n uint64 }

// MustShard reads a shard that is known to be good, and panics at another one.
func MustShard(text string) (s Shard) {
	if err := s.Set(text); err != nil {
		panic(err)
	}
	return s
}

// Set implements flag.Value: k/n with 1 ≤ k ≤ n.
func (s *Shard) Set(text string) error {
	left, right, found := strings.Cut(text, "/")
	k, errK := strconv.ParseUint(left, 10, 32)
	n, errN := strconv.ParseUint(right, 10, 32)
	if !found || errK != nil || errN != nil || k < 1 || k > n {
		return fmt.Errorf("%q is not a shard; use k/n with 1 ≤ k ≤ n, such as 1/3", text)
	}
	*s = Shard{k, n}
	return nil
}

func (s Shard) String() string {
	if s.n == 0 {
		return "1/1"
	}
	return fmt.Sprintf("%d/%d", s.k, s.n)
}

// index is k as schedules count it, from 0.
func (s Shard) index() uint64 { return max(s.k, 1) - 1 }

func (s Shard) parts() uint64 { return max(s.n, 1) }
