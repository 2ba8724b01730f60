package verdict

import (
	"slices"
	"strings"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// The reasons why a run is invalid.
const (
	generator = "the generator, not the target, shaped these figures"
	shards    = "the shards did not put the whole load on the target at once"
	nothing   = "nothing was measured"
)

// rule is a warning that can make a run invalid.
type rule struct {
	code   takt.WarningCode
	reason string // "": the warning decides nothing about the headline
	always bool   // a run with the warning is invalid; others may be closed loops, or within a bound
	late   bool   // operations were sent late, which a duet judges for each pair of blocks by itself
}

func rules() []rule {
	return []rule{
		{code: warn.Accounting, always: true},
		{code: warn.NothingMeasured, reason: nothing, always: true},
		{code: warn.GeneratorBottleneck, reason: generator, always: true, late: true},
		{code: warn.GeneratorBehind, reason: generator, always: true},
		{code: warn.GeneratorBacklog, reason: generator, always: true, late: true},
		{code: warn.GeneratorHeld, reason: generator},
		{code: warn.GeneratorSaturated, reason: generator},
		{code: warn.HostLimit, reason: generator},
		{code: warn.Rejudged, reason: generator, late: true},
		{code: warn.ShardsMissing, reason: shards},
		{code: warn.ShardsCut, reason: shards},
		{code: warn.ShardsApart, reason: shards},
	}
}

// broken are the rules that the warnings are about.
func broken(warnings []takt.Warning) []rule {
	return slices.DeleteFunc(rules(), func(r rule) bool {
		return !slices.ContainsFunc(warnings, func(w takt.Warning) bool { return w.Code == r.code })
	})
}

// Refutes returns the codes of the warnings that no valid run has.
func Refutes(warnings []takt.Warning) (codes []takt.WarningCode) {
	for _, r := range broken(warnings) {
		if r.always {
			codes = append(codes, r.code)
		}
	}
	return codes
}

// ByGenerator reports whether a warning can make a run invalid because of its generator.
func ByGenerator(warnings []takt.Warning) bool {
	return slices.ContainsFunc(broken(warnings), func(r rule) bool { return r.reason == generator })
}

// OnlyLate reports whether operations that were sent late are all that the warnings say against
// a run.
func OnlyLate(warnings []takt.Warning) bool {
	bottleneck := slices.ContainsFunc(warnings, func(w takt.Warning) bool { return w.Code == warn.GeneratorBottleneck })
	return bottleneck && lateAlone(warnings)
}

// lateAlone reports whether the warnings say nothing against a run but that operations were sent late, or
// waited behind late ones.
func lateAlone(warnings []takt.Warning) bool {
	all := broken(warnings)
	return len(all) > 0 && !slices.ContainsFunc(all, func(r rule) bool { return !r.late })
}

// Reason says in a sentence why a run with these warnings is invalid. The warnings have the
// figures.
func Reason(warnings []takt.Warning) string {
	reason := generator
	for _, r := range broken(warnings) {
		switch r.reason {
		case generator:
			return generator
		case shards, nothing:
			reason = r.reason
		}
	}
	return reason
}

// Headline is the first line for an invalid run.
func Headline(warnings []takt.Warning) string { return "INVALID RUN: " + Reason(warnings) + "." }

// Sentence is Reason as a sentence of its own.
func Sentence(warnings []takt.Warning) string {
	s := Reason(warnings)
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
