package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// auto is the value of --shard and of --run-group that takes the variables of what started
// takt.
const auto = "auto"

// Shard is the value of --shard: this run sends every n-th operation of the schedule, from the
// k-th on. The zero Shard sends all.
type Shard struct {
	k, n uint64
	auto bool   // "auto" was given, and Resolve has not replaced it
	from string // the variables that Resolve read, with their values; "": the user gave k/n
}

// MustShard reads a shard that is known to be good, and panics at another one.
func MustShard(text string) (s Shard) {
	if err := s.Set(text); err != nil {
		panic(err)
	}
	return s
}

// Set implements flag.Value: k/n with 1 ≤ k ≤ n, or auto.
func (s *Shard) Set(text string) error {
	if text == auto {
		*s = Shard{auto: true}
		return nil
	}
	left, right, found := strings.Cut(text, "/")
	if found && isSwarmNode(left) {
		return fmt.Errorf("%q has the id of a Swarm node as k: the mode replicated-job does not number its first task; use a service of the mode replicated", text)
	}
	k, errK := parseNumber(left)
	n, errN := parseNumber(right)
	if !found || errK != nil || errN != nil || k < 1 || k > n {
		return fmt.Errorf("%q is not a shard; use k/n with 1 ≤ k ≤ n, such as 1/3, or auto", text)
	}
	*s = Shard{k: k, n: n}
	return nil
}

// isSwarmNode reports whether text is the id of a Swarm node, to which {{.Task.Slot}} expands in
// the first task of a replicated-job: 25 digits and small letters. Some ids have only digits, but
// no number of a task is that long.
func isSwarmNode(text string) bool {
	return len(text) == 25 && strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// parseNumber reads a number of shards.
func parseNumber(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, errors.New("not a whole number")
	}
	return n, nil
}

func (s Shard) String() string {
	switch {
	case s.auto:
		return auto
	case s.n == 0:
		return takt.WholeShard
	}
	return fmt.Sprintf("%d/%d", s.k, s.n)
}

// Resolved returns k/n and the variables that it is from, if the user gave auto.
func (s Shard) Resolved() (text, from string) { return s.String(), s.from }

// IsPart reports whether other processes send the rest of the schedule.
func (s Shard) IsPart() bool { return s.n > 1 }

// Place is which part of the schedule this run sends, from 0, and of how many.
func (s Shard) Place() (part, parts uint64) { return s.index(), s.parts() }

// index is k as schedules count it, from 0.
func (s Shard) index() uint64 { return max(s.k, 1) - 1 }

func (s Shard) parts() uint64 { return max(s.n, 1) }
