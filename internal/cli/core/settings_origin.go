package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/value"
)

// Commands check the values of flags without knowing their origin. This file adds the origin to
// their faults, which name the flags as a value.Fault: takt.conf:7: bad rate: rate "5/q": ….

// withOrigins is check with faults that name the file or the variable. It drops faults that only
// follow from a refused value, which is a fault already.
func (p *FlagParser) withOrigins(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var all *UsageError
		if !errors.As(err, &all) {
			return err
		}
		var faults []error
		for _, fault := range all.Faults {
			if about := p.settingsOf(fault); len(about) != 1 || !slices.Contains(p.Refused, about[0].Name) {
				faults = append(faults, withOrigin(fault, about))
			}
		}
		return Usage(cmd, faults)
	}
}

// settingsOf returns the settings that a fault is about.
func (p *FlagParser) settingsOf(fault error) (all []Setting) {
	var f *value.Fault
	if !errors.As(fault, &f) {
		return nil
	}
	for _, s := range p.Given {
		named := slices.Contains(f.Flags, s.Name) || slices.Contains(f.Flags, p.flags.Lookup(s.Name).Shorthand)
		if named && (f.Text == "" || f.Text == s.Value) {
			all = append(all, s)
		}
	}
	return all
}

// withOrigin adds to a fault where the values that it is about are from, unless they are on the
// command line.
func withOrigin(fault error, about []Setting) error {
	var elsewhere []string
	for _, s := range about {
		if s.Origin.Kind != FromFlag {
			elsewhere = append(elsewhere, s.Name+": "+s.Origin.at)
		}
	}
	switch {
	case len(elsewhere) == 0:
		return fault
	case len(about) > 1:
		return fmt.Errorf("%w (%s)", fault, strings.Join(elsewhere, ", "))
	}
	s := about[0]
	return fmt.Errorf("%s: %s", s.Origin.bad(s.Name), strings.TrimPrefix(fault.Error(), "bad --"+s.Name+" "))
}
