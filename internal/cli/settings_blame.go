package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Commands find faults in the values of flags without knowing where these came
// from. What follows adds it: takt.conf:7: bad rate: rate "5/q": ….

// blaming is check with faults that name the file or the variable. What follows
// from a value that was refused is left out: that is a fault already.
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

// follows reports whether a fault is of a flag whose value was refused, so that it
// has none that anybody gave.
func (p *flagParser) follows(fault error) bool {
	cause, _, _ := strings.Cut(fault.Error(), "; ")
	named := p.named(cause)
	return len(named) == 1 && slices.Contains(p.refused, named[0].name)
}

// blame adds to a fault where the values that it is about came from.
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

// guilty are the settings that a fault is about: those that it names before it
// says what to do, else whose value it quotes, else those that it names at all,
// else of whose value it quotes a part.
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

// named are the settings whose flag stands in text, as --rate or -q.
func (p *flagParser) named(text string) (found []setting) {
	for _, s := range p.given {
		f := p.flags.Lookup(s.name)
		if hasFlag(text, "--"+f.Name) || f.Shorthand != "" && hasFlag(text, "-"+f.Shorthand) {
			found = append(found, s)
		}
	}
	return found
}

// hasFlag reports whether flag stands in text, and not as a part of another one.
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

// quotes finds what stands in double quotes.
var quotes = regexp.MustCompile(`"([^"]+)"`)

// quoted are the settings whose value matches something that the fault quotes. An
// argument or a flag of the command line may as well be what is quoted: then
// nobody knows, and none is returned.
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
