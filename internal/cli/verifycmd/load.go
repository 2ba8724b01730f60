package verifycmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/programs"
	"github.com/taktload/takt/internal/program"
	"github.com/taktload/takt/internal/service"
	"github.com/taktload/takt/internal/value"
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
		return v.urlTwice(env, command, err)
	}
	return core.WholeLoad(rows)
}

// urlTwice is err, or if the load is fine without its last word, a URL, the fault of that URL: the sides
// have theirs already.
func (v *verifyCommand) urlTwice(env core.Env, command []string, err error) error {
	n := len(command) - 1
	if v.git.on() || n < 1 || !core.IsURL(command[n]) {
		return err
	}
	if _, also := env.LoadSettings(v.line(slices.Clone(command[:n]), v.base[0])); also != nil {
		return err
	}
	return fmt.Errorf("the target is given twice: %s after --, and with --base and --head; leave it out after --", value.HidePassword(command[n]))
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
