package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Commands check the values of flags without knowing their origin. This file adds the origin to
// faults: takt.conf:7: bad rate: rate "5/q": ….

// blaming is check with faults that name the file or the variable. It drops faults that only
// follow from a refused value, which is a fault already.
func (p *flagParser) blaming(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var all *usageError
		if !errors.As(err, &all) {
			return err
		}
		var faults []error
		for _, fault := range all.faults {
			if !p.follows(fault) {
				faults = append(faults, p.blame(fault))
			}
		}
		return usage(cmd, faults)
	}
}

// follows reports whether a fault is about a single flag whose value was refused, so that the
// check saw the default instead.
func (p *flagParser) follows(fault error) bool {
	cause, _, _ := strings.Cut(fault.Error(), "; ")
	named := p.named(cause)
	return len(named) == 1 && slices.Contains(p.refused, named[0].name)
}

// blame adds the origin of the values to a fault.
func (p *flagParser) blame(fault error) error {
	var elsewhere []string
	guilty := p.guilty(fault.Error())
	for _, s := range guilty {
		if s.origin.kind != fromFlag {
			elsewhere = append(elsewhere, s.name+": "+s.origin.at)
		}
	}
	switch {
	case len(elsewhere) == 0:
		return fault
	case len(guilty) > 1:
		return fmt.Errorf("%w (%s)", fault, strings.Join(elsewhere, ", "))
	}
	s := guilty[0]
	return fmt.Errorf("%s: %s", s.origin.bad(s.name), strings.TrimPrefix(fault.Error(), "bad --"+s.name+" "))
}

// guilty returns the settings that a fault is about. It tries in this order: flags named before
// the "; ", values quoted in full, flags named anywhere, values quoted in part.
func (p *flagParser) guilty(fault string) []setting {
	cause, _, _ := strings.Cut(fault, "; ")
	if found := p.named(cause); found != nil {
		return found
	}
	if found := p.quoted(fault, func(value, quote string) bool { return value == quote }); found != nil {
		return found
	}
	if found := p.named(fault); found != nil {
		return found
	}
	return p.quoted(fault, strings.Contains)
}

// named returns the settings whose flag is in text, as --rate or -q.
func (p *flagParser) named(text string) (found []setting) {
	for _, s := range p.given {
		f := p.flags.Lookup(s.name)
		if hasFlag(text, "--"+f.Name) || f.Shorthand != "" && hasFlag(text, "-"+f.Shorthand) {
			found = append(found, s)
		}
	}
	return found
}

// hasFlag reports whether text contains flag, other than as part of another flag.
func hasFlag(text, flag string) bool {
	for {
		before, after, found := strings.Cut(text, flag)
		if !found {
			return false
		}
		if (before == "" || !isFlagChar(before[len(before)-1])) && (after == "" || !isFlagChar(after[0])) {
			return true
		}
		text = after
	}
}

func isFlagChar(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '-' }

// quotes matches text in double quotes.
var quotes = regexp.MustCompile(`"([^"]+)"`)

// quoted returns the settings whose value matches a quoted text in the fault. If an argument or
// a flag on the command line matches, too, the origin is unclear, and it returns none.
func (p *flagParser) quoted(fault string, match func(value, quote string) bool) (found []setting) {
	for _, m := range quotes.FindAllStringSubmatch(fault, -1) {
		for _, arg := range p.positional {
			if match(arg, m[1]) {
				return nil
			}
		}
		for _, s := range p.given {
			if !match(s.value, m[1]) {
				continue
			}
			if s.origin.kind == fromFlag {
				return nil
			}
			if !slices.Contains(found, s) {
				found = append(found, s)
			}
		}
	}
	return found
}
