package verifycmd

import (
	"slices"
	"strings"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/service"
)

// checkLoad lets takt read the command after -- before anything is built or sent: a fault of it would
// otherwise end the series after minutes.
func (v *verifyCommand) checkLoad(command []string) error {
	if len(command) == 0 || len(v.base) != 1 {
		return nil
	}
	words := slices.Clone(command)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, service.PortMark, "1")
	}
	if !v.git.on() {
		words = append(words, v.base[0])
	}
	rows, err := v.env.LoadSettings(words)
	if err != nil {
		return err
	}
	return core.WholeLoad(rows)
}
