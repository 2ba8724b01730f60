package fleetcmd

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
)

// span is how long the load of these settings lasts, with its warm-up and its drain; 0: nobody knows
// before the run, as of a closed loop with a number of requests, or of a log.
func span(rows []core.SettingRow) (whole, drain time.Duration) {
	options := engine.Defaults()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.AddFlags(fs)
	for _, row := range rows {
		if f := fs.Lookup(row.Name); f != nil && row.Value != "" && f.Value.Set(row.Value) != nil {
			return 0, 0
		}
	}
	spec, err := options.Spec()
	if err != nil {
		return 0, 0
	}
	s, err := spec.Schedule()
	drain = options.Drain.Duration()
	if err != nil || s.End() <= 0 {
		return 0, drain
	}
	return s.End() + drain, drain
}
