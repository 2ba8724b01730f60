package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/value"
)

func newVersion(env core.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "print the version", Args: core.NoArgs,
		Example: "  takt version --json",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				_, err := fmt.Fprintf(env.Stdout, "{\"name\":\"takt\",\"version\":%q,\"go\":%q,\"revision\":%q}\n", core.Version, runtime.Version(), revision())
				return err
			}
			_, err := fmt.Fprintf(env.Stdout, "takt %s (%s)\n", core.Version, runtime.Version())
			return err
		},
	}
	value.Declare(c.Flags(), value.GroupOutput, func(fs *pflag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "as JSON")
	})
	return c
}

// revision is the commit that the binary was built from; "": unknown.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
