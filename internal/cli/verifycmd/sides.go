package verifycmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/programs"
	"github.com/taktload/takt/internal/program"
	"github.com/taktload/takt/internal/value"
)

// checkSides refuses sides that cannot be loaded: programs that are not there, and what is not a target
// where a load command follows.
func (v *verifyCommand) checkSides(command []string) (faults []error) {
	if v.git.on() {
		return nil
	}
	if len(command) > 0 && core.LoadsTargets(command[0]) && slices.Contains(v.env.Args, "--") {
		for _, side := range []struct {
			flag  string
			given []string
		}{{"base", v.base}, {"head", v.head}} {
			if len(side.given) > 1 {
				faults = append(faults, value.Faultf("--%s is given %d times, and the command after -- loads one target; give each side once", side.flag, len(side.given)))
			}
		}
	}
	if len(faults) > 0 || len(v.base) != 1 || len(v.head) != 1 {
		return faults
	}
	check := v.checkTarget
	switch {
	case v.lacksCommand(command) || v.ofPrograms():
		if !v.meansPrograms(command) {
			return nil
		}
		check = checkProgram
	case len(command) > 0 && !core.LoadsTargets(command[0]):
		return nil
	case v.inProgram(command) || !slices.Contains(v.env.Args, "--"): // the program knows what its last argument may be; filters need no --
		return nil
	}
	for _, side := range []struct{ flag, text string }{{"base", v.base[0]}, {"head", v.head[0]}} {
		if err := check(side.text); err != nil {
			faults = append(faults, value.About(fmt.Errorf("--%s: %w", side.flag, err), side.flag))
		}
	}
	return faults
}

// namesOf are what the user calls the sides: a URL, a file, a filter. Words such as @-1 mean another run after
// the next one, so they are no names.
func namesOf(base, head []string) (names [2]string) {
	for i, words := range [][]string{base, head} {
		if len(words) == 0 || strings.HasPrefix(words[0], "@") {
			continue
		}
		names[i] = value.HidePassword(strings.Join(words, ","))
		if more := len(words) - 1; more > 1 {
			names[i] = value.HidePassword(words[0]) + fmt.Sprintf(" and %d more", more)
		}
	}
	return names
}

// meansPrograms reports whether the sides are programs: by their paths, if flags for them follow, and
// otherwise because one can be started. Reports are files, too.
func (v *verifyCommand) meansPrograms(flags []string) bool {
	means := programs.Executable
	if len(flags) > 0 || v.series.pairs != "" || v.duet.on {
		means = program.Is
	}
	return means(v.base[0]) || means(v.head[0])
}

func checkProgram(side string) error {
	if !program.Is(side) {
		return fmt.Errorf("%s is not the path of a program, and the other side is one; write it as ./%s, or give both sides the same kind", value.HidePassword(side), side)
	}
	return program.Find(side)
}

func (v *verifyCommand) checkTarget(side string) error {
	if core.IsTarget(side) {
		return nil
	}
	return fmt.Errorf("%s is neither a URL nor HOST:PORT, which the command after -- needs; stored runs and reports are compared without a command", strings.TrimSpace(side))
}
