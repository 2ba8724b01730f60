package verdict

import (
	"slices"
	"strings"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// broken are the rules that the warnings are about.
func broken(warnings []takt.Warning) []warn.Rule {
	return slices.DeleteFunc(warn.Rules(), func(r warn.Rule) bool {
		return !slices.ContainsFunc(warnings, func(w takt.Warning) bool { return w.Code == r.Code })
	})
}

// Refutes returns the codes of the warnings that no valid run has.
func Refutes(warnings []takt.Warning) (codes []takt.WarningCode) {
	for _, r := range broken(warnings) {
		if r.Always {
			codes = append(codes, r.Code)
		}
	}
	return codes
}

// ByGenerator reports whether a warning can make a run invalid because of its generator.
func ByGenerator(warnings []takt.Warning) bool {
	return slices.ContainsFunc(broken(warnings), func(r warn.Rule) bool { return r.Reason == warn.ByGenerator })
}

// lateAlone reports whether the warnings say nothing against a run but that operations were sent late, or
// waited behind late ones.
func lateAlone(warnings []takt.Warning) bool {
	all := broken(warnings)
	return len(all) > 0 && !slices.ContainsFunc(all, func(r warn.Rule) bool { return !r.Late })
}

// Reason says in a sentence why a run with these warnings is invalid. The warnings have the
// figures.
func Reason(warnings []takt.Warning) string {
	reason := warn.ByGenerator
	for _, r := range broken(warnings) {
		switch r.Reason {
		case warn.ByGenerator:
			return r.Reason
		case warn.ByShards, warn.ByNothing:
			reason = r.Reason
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
