package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// OfTheWhole reports whether a setting of a fleet's load is about the report of the whole, and not about the
// load of a shard.
func OfTheWhole(f *pflag.Flag) bool {
	switch value.GroupOf(f) {
	case value.GroupOutput, value.GroupAssertions, value.GroupStorage:
		return true
	}
	return slices.Contains([]string{"repeat", "label", "git", "shard", "start-at", "fault"}, f.Name)
}

// WritesFiles reports whether a flag with this text names a file that takt writes.
func WritesFiles(f *pflag.Flag, text string) bool {
	return value.Named(f.Value, text, value.Writes) != nil
}

// CheckShard returns why a shard does not run the words of its gatherer: a shard sends load, and nothing else.
// program says that the words run a program that the shard's owner has named.
func (e Env) CheckShard(words []string, program bool) error {
	i, err := e.Inspect(words)
	if f := i.Command.Flags().Lookup(ConfigFlag); f != nil && f.Changed { // not by the environment of the shard
		return fmt.Errorf("the gatherer gives --%s, whose file could write files or run commands here; takt fleet sends what its own file says", f.Name)
	}
	if err != nil {
		return nil // running the words says what is wrong
	}
	if !program && (i.Command.Flags().Lookup("rate") == nil || i.Command.HasSubCommands()) {
		return fmt.Errorf("the gatherer asks for takt %s, and a shard only sends load", i.Command.Name())
	}
	var faults []error
	for _, s := range i.Given {
		f := i.Command.Flags().Lookup(s.Name)
		its := slices.Contains([]string{"shard", "run-group", "no-store", "progress"}, s.Name) // what a gatherer adds
		if f == nil || its || s.Origin.Kind != FromFlag || !OfTheWhole(f) && !WritesFiles(f, s.Value) {
			continue
		}
		faults = append(faults, fmt.Errorf("the gatherer gives --%s, which writes files or runs commands here, and a shard only sends load", s.Name))
	}
	return errors.Join(faults...)
}
