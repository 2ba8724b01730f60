package cli

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
func (p *flagParser) withOrigins(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var all *usageError
		if !errors.As(err, &all) {
			return err
		}
		var faults []error
		for _, fault := range all.faults {
			if about := p.settingsOf(fault); len(about) != 1 || !slices.Contains(p.refused, about[0].name) {
				faults = append(faults, withOrigin(fault, about))
			}
		}
		return usage(cmd, faults)
	}
}

// settingsOf returns the settings that a fault is about.
func (p *flagParser) settingsOf(fault error) (all []setting) {
	var f *value.Fault
	if !errors.As(fault, &f) {
		return nil
	}
	for _, s := range p.given {
		named := slices.Contains(f.Flags, s.name) || slices.Contains(f.Flags, p.flags.Lookup(s.name).Shorthand)
		if named && (f.Text == "" || f.Text == s.value) {
			all = append(all, s)
		}
	}
	return all
}

// withOrigin adds to a fault where the values that it is about are from, unless they are on the
// command line.
func withOrigin(fault error, about []setting) error {
	var elsewhere []string
	for _, s := range about {
		if s.origin.kind != fromFlag {
			elsewhere = append(elsewhere, s.name+": "+s.origin.at)
		}
	}
	switch {
	case len(elsewhere) == 0:
		return fault
	case len(about) > 1:
		return fmt.Errorf("%w (%s)", fault, strings.Join(elsewhere, ", "))
	}
	s := about[0]
	return fmt.Errorf("%s: %s", s.origin.bad(s.name), strings.TrimPrefix(fault.Error(), "bad --"+s.name+" "))
}
