package verdict

import (
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// Reason says in a sentence why a run with these warnings is invalid. The warnings have the
// figures.
func Reason(warnings []takt.Warning) string {
	const generator = "the generator, not the target, shaped these figures"
	reason := generator
	for _, w := range warnings {
		switch w.Code {
		case "generator_bottleneck", "generator_behind", "generator_backlog", "generator_held", "generator_saturated", "host_limit", "rejudged":
			return generator
		case "shards_missing", "shards_cut", "shards_apart":
			reason = "the shards did not put the whole load on the target at once"
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
