package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// OfTheWhole reports whether a setting of a fleet's load is about the report of the whole, and not about the
// load of a shard.
func OfTheWhole(f *pflag.Flag) bool {
	switch value.GroupOf(f) {
	case value.GroupOutput, value.GroupStorage:
		return true
	case value.GroupAssertions: // but what decides which operations are good
		return !slices.Contains([]string{"slo", "fail-on", "expect-body"}, f.Name)
	}
	return slices.Contains([]string{"repeat", "label", "git", "shard", "start-at", "fault"}, f.Name)
}

// WritesFiles reports whether a flag with this text names a file that takt writes.
func WritesFiles(f *pflag.Flag, text string) bool {
	return value.Named(f.Value, text, value.Writes) != nil
}

// IsLoad reports whether a command makes one run.
func IsLoad(cmd *cobra.Command) bool {
	of := func(name string) bool { return cmd.Flags().Lookup(name) != nil }
	return of("rate") && of("shard") && !cmd.HasSubCommands() && cmd.Parent().Name() != ConfigCommand
}

// VetShard is Env.Vet of a shard: whatever its gatherer gives, a shard sends load, and nothing else.
func VetShard(cmd *cobra.Command, given []Setting) error {
	if !IsLoad(cmd) {
		return fmt.Errorf("the gatherer asks for %s, and a shard only sends load", cmd.CommandPath())
	}
	if f := cmd.Flags().Lookup(ConfigFlag); f != nil && f.Changed { // not by the environment of the shard
		return fmt.Errorf("the gatherer gives --%s, whose file could write files or run commands here; takt fleet sends what its own file says", f.Name)
	}
	var faults []error
	for _, s := range given {
		f := cmd.Flags().Lookup(s.Name)
		its := slices.Contains([]string{"shard", "run-group", "no-store", "progress"}, s.Name) // what a gatherer adds
		if f != nil && !its && (OfTheWhole(f) || WritesFiles(f, s.Value)) {
			faults = append(faults, fmt.Errorf("the gatherer gives --%s; a shard only sends load: it writes no files, runs no commands, and does not judge", s.Name))
		}
	}
	return errors.Join(faults...)
}
