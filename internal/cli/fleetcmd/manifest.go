// Package fleetcmd is takt fleet: a run of several machines.
package fleetcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/fleet"
	"github.com/taktload/takt/internal/fleet/manifest"
	"github.com/taktload/takt/internal/value"
)

// NewManifest returns takt fleet manifest, with a command for each engine.
func NewManifest(env core.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "manifest ENGINE --shards N -- COMMAND…",
		Short: "print what starts a fleet: a manifest of Kubernetes, or a script",
		Long: `takt prints the text, and applies nothing. The engine places, starts and ends the
processes: a gatherer (takt fleet) and N shards (takt shard).`,
		Args: core.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, engine := range manifest.Engines() {
		c.AddCommand(newEngine(env, engine))
	}
	return c
}

// manifestCommand is takt fleet manifest with one engine.
type manifestCommand struct {
	env    core.Env
	fleet  *manifest.Fleet
	writer manifest.Writer

	warnings []string
}

func newEngine(env core.Env, engine manifest.Engine) *cobra.Command {
	k := &manifestCommand{env: env, fleet: manifest.Default(), writer: engine.New()}
	c := &cobra.Command{Use: engine.Name + " --shards N [flags] -- COMMAND…", Short: engine.Short, Long: engine.Long, Example: engine.Example}
	return core.Define(c, func(fs *pflag.FlagSet) {
		value.Declare(fs, value.GroupLoad, k.fleet.AddFlags)
		value.Declare(fs, value.GroupGenerator, func(fs *pflag.FlagSet) { k.writer.AddFlags(fs, k.fleet) })
	}, k.validate, k.run)
}

// validate reports every fault at once.
func (k *manifestCommand) validate(args []string) (faults []error) {
	err := k.load(args)
	faults = append(k.writer.Validate(k.fleet), k.fleet.Validate()...)
	return core.AppendError(faults, err)
}

// load checks the load command, and stores what a manifest needs of it. Settings of this
// process's environment are not used: no shard has them.
func (k *manifestCommand) load(command []string) error {
	if len(command) == 0 || strings.HasPrefix(command[0], "-") {
		k.fleet.Span = 1 // the missing command is fault enough
		return errors.New("takt fleet needs a load command after --, as in -- http --rate 1k/s -z 30s http://shop/")
	}
	k.fleet.Command = command
	env := k.env
	env.Getenv, env.Environ = func(string) string { return "" }, nil
	rows, err := env.LoadSettings(command)
	if err != nil {
		k.fleet.Span = 1
		return err
	}
	k.fleet.Span, k.fleet.Drain = span(rows)
	k.fleet.Reads, k.fleet.Writes = env.LoadFiles(command, rows)
	k.warn(rows)
	return nil
}

// warn says what is probably a mistake in the load command.
func (k *manifestCommand) warn(rows []core.SettingRow) {
	for _, row := range rows {
		if row.Secret {
			k.warnings = append(k.warnings, fmt.Sprintf("this text contains the secret of --%s; better leave the flag out, and set TAKT_%s for the gatherer and the shards", row.Name, strings.ToUpper(strings.ReplaceAll(row.Name, "-", "_"))))
		}
	}
	for _, word := range k.fleet.Command {
		if at := loopback.FindString(word); at != "" {
			k.warnings = append(k.warnings, fmt.Sprintf("%s is the machine or the container of each shard itself; give an address that all of them reach", at))
		}
	}
}

// loopback matches the start of a URL of this machine.
var loopback = regexp.MustCompile(`https?://(127\.[0-9.]+|localhost|\[::1\])`)

func (k *manifestCommand) run(context.Context, []string) error {
	k.fleet.Token = string(fleet.NewToken())
	for _, warning := range k.warnings {
		fmt.Fprintln(k.env.Stderr, "takt: warning:", warning)
	}
	_, err := io.WriteString(k.env.Stdout, k.writer.Text(k.fleet))
	return err
}
