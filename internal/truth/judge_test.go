package truth_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/generators"
	"github.com/taktload/takt/internal/test/clocktest"
	"github.com/taktload/takt/internal/trial"
)

// TestTruthOfJudge: takt judge finds nothing wrong with takt, in the trials where most generators lie, and finds
// takt's closed loop wrong in a freeze: it measures from send.
func TestTruthOfJudge(t *testing.T) {
	clocktest.Asked(t)
	for name, c := range map[string]struct {
		flags []string
		only  []string
		lies  bool
	}{
		"loop":        {nil, []string{"freeze", "resets", "stop"}, false},
		"worker":      {[]string{"--engine", "worker"}, []string{"freeze", "resets", "stop"}, false},
		"net":         {[]string{"--client", "net"}, []string{"resets", "closes"}, false},
		"closed loop": {[]string{"--rate", "max", "-c", "{{.Connections}}"}, []string{"freeze"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			words := append([]string{binary(t), "http", "-z", "{{.Seconds}}s", "--no-store", "--progress", "none", "-o", "json"}, c.flags...)
			if !c.lies {
				words = append(words, "--rate", "{{.Rate}}/s")
			}
			command, err := trial.ParseCommand(append(words, "{{.URL}}"))
			if err != nil {
				t.Fatal(err)
			}
			o := trial.Defaults()
			o.Rate, o.Duration, o.Scale, o.Connections, o.Only, o.Env, o.Dir = 300, time.Second, 0.2, []int{20}, c.only, os.Environ(), t.TempDir()
			clocktest.Wants(t, func(*clocktest.Sleepers) (faults []string) {
				g, err := trial.Judge(t.Context(), o, name, command)
				if err != nil {
					t.Fatal(err)
				}
				lies := 0
				for _, one := range g.Trials {
					for _, cell := range one.Cells {
						if cell.State == generators.Wrong || cell.State == generators.Silent {
							lies++
							if !c.lies {
								faults = append(faults, fmt.Sprintf("%s: %s is %s by %g", one.Pathology, cell.Figure, cell.State, cell.Off()))
							}
						}
					}
				}
				if c.lies && lies == 0 {
					faults = append(faults, "nothing was found")
				}
				return faults
			})
		})
	}
}
