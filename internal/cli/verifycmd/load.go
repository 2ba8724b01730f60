package verifycmd

import (
	"slices"
	"strings"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/programs"
	"github.com/taktload/takt/internal/program"
	"github.com/taktload/takt/internal/service"
)

// checkLoad lets takt read the command after -- before anything is built or sent: a fault of it would
// otherwise end the series after minutes.
func (v *verifyCommand) checkLoad(command []string) error {
	if len(command) == 0 && !v.ofPrograms() || len(v.base) != 1 {
		return nil
	}
	words := slices.Clone(command)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, service.PortMark, "1")
	}
	if !v.git.on() {
		words = v.line(words, v.base[0])
	}
	env := v.env
	env.MustEnd = true
	rows, err := env.LoadSettings(words)
	if err != nil {
		return err
	}
	return core.WholeLoad(rows)
}

// line is the command line of a side: the command with the URL of the side, or the program of the side
// with the command's flags.
func (v *verifyCommand) line(command []string, side string) []string {
	if v.ofPrograms() {
		return slices.Concat([]string{side}, command)
	}
	return append(command, side)
}

// ofPrograms reports whether the sides are two programs, and not two targets of one load.
func (v *verifyCommand) ofPrograms() bool {
	return len(v.base) == 1 && len(v.head) == 1 && programs.Executable(v.base[0]) && programs.Executable(v.head[0])
}

// lacksCommand reports whether there is nothing to run.
func (v *verifyCommand) lacksCommand(command []string) bool {
	return !v.ofPrograms() && (len(command) == 0 || strings.HasPrefix(command[0], "-"))
}

// inProgram reports whether a program performs the operations.
func (v *verifyCommand) inProgram(command []string) bool {
	return v.ofPrograms() || len(command) > 0 && program.Is(command[0])
}
