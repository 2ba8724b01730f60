package fleetcmd

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/engine"
)

// span is how long the load of a command with these flags lasts, with its warm-up and its drain; 0:
// nobody knows before the run, as of a closed loop with a number of requests, or of a log.
func span(flags *pflag.FlagSet) (whole, drain time.Duration) {
	options := engine.Defaults()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.AddFlags(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		if given := flags.Lookup(f.Name); given != nil && given.Value.String() != "" {
			_ = f.Value.Set(given.Value.String()) // the command has checked it
		}
	})
	drain = options.Drain.Duration()
	if end := options.Span(); end > 0 {
		return end + drain, drain
	}
	return 0, drain
}
