package verifycmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/value"
)

// choose decides how to compare two targets without --pairs and --duet: by a duet if noDuet has
// no reason against it, else by pairs of runs.
func (v *verifyCommand) choose(command []string) {
	if v.ofPrograms() && v.series.pairs == "" && !v.duet.on {
		v.series.pairs = pairsAuto
		return
	}
	if v.series.pairs != "" || v.duet.on || len(command) == 0 || !v.twoTargets(command) {
		return
	}
	if why := v.noDuet(command); why != "" {
		v.series.pairs = pairsAuto
		v.chosen = "runs of base and head in turn (--pairs auto), because " + why + "; --duet sends load to both at once"
		return
	}
	v.duet.on = true
	v.chosen = "a duet: both sides are targets, so both get the load in turn within one run; --pairs auto compares whole runs instead"
}

// twoTargets reports whether the sides are two targets to load. What is a target of a program, only the
// program knows.
func (v *verifyCommand) twoTargets(command []string) bool {
	one := len(v.base) == 1 && len(v.head) == 1
	return v.git.on() || one && (v.inProgram(command) || core.IsTarget(v.base[0]) && core.IsTarget(v.head[0]))
}

// noDuet says why a duet cannot compare the sides with this command; "": it can.
func (v *verifyCommand) noDuet(command []string) string {
	if v.inProgram(command) {
		return "a program is a process of its own, which cannot take turns with another side"
	}
	for _, name := range []string{"max-pairs", "max-disturbed"} {
		if v.env.Typed(name) {
			return "--" + name + " is given"
		}
	}
	if v.base[0] == v.head[0] {
		return "both sides are the same target"
	}
	if v.git.on() {
		return "only runs are stored, and show the memory and the CPU time of the servers"
	}
	for _, name := range []string{"repeat", "shard", "start-at", "contrast"} {
		if setsFlag(command, name) {
			return "--" + name + " comes after --"
		}
	}
	scheduled := slices.ContainsFunc([]string{"rate", "rounds", "stages"}, func(flag string) bool { return setsFlag(command, flag) })
	if !scheduled && command[0] != "replay" {
		return "the command has no --rate, so it has no schedule that both could share"
	}
	if err := v.options.CheckDuet(verify.DuetParts{Block: verify.BlockLeast}, time.Hour, command[0]); err != nil { // block and budget are valid here, so only metrics can be wrong
		return core.OneLine(err)
	}
	return ""
}

// announce prints which way takt chose, and how to choose the other.
func (v *verifyCommand) announce() {
	if (v.duet.on || v.series.pairs != "") && len(v.base) == 1 && slices.Equal(v.base, v.head) {
		fmt.Fprintf(v.env.Stderr, "verify: base and head are both %s, so a difference is chance\n", value.HidePassword(v.base[0]))
	}
	if v.chosen != "" {
		fmt.Fprintln(v.env.Stderr, "verify: "+v.chosen)
	}
}

// playDuet plays the duet. If takt chose the duet itself, and the command turns out not to suit
// one, it makes pairs of runs instead.
func (v *verifyCommand) playDuet(ctx context.Context, command []string) (verify.Judgement, error) {
	lift := slices.Clone(v.options.Lift)
	j, err := v.duet.run(ctx, v, command)
	var unsuited *unsuitedError
	if v.chosen == "" || !errors.As(err, &unsuited) {
		return j, err
	}
	v.options.Lift, v.duet.on, v.series.pairs = lift, false, pairsAuto
	fmt.Fprintf(v.env.Stderr, "verify: no duet: %s; runs of base and head in turn instead (--pairs auto)\n", core.OneLine(unsuited.err))
	if faults := v.series.validate(v, command); len(faults) > 0 {
		return j, core.ExitWith(core.ExitUsage, errors.Join(faults...))
	}
	return v.series.run(ctx, v, command)
}

// unsuitedError is the error of a command that suits pairs of runs, but not a duet.
type unsuitedError struct{ err error }

func (e *unsuitedError) Error() string { return e.err.Error() }
func (e *unsuitedError) Unwrap() error { return e.err }

// unsuited makes err an unsuitedError, and a usage error for the case that the user gave --duet.
func unsuited(err error) error { return core.ExitWith(core.ExitUsage, &unsuitedError{err}) }
