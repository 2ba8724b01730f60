// Package fleetcmd is takt fleet: a run of several machines.
package fleetcmd

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
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
	for _, e := range manifest.Engines() {
		c.AddCommand(newEngine(env, e))
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

func newEngine(env core.Env, e manifest.Engine) *cobra.Command {
	k := &manifestCommand{env: env, fleet: manifest.Default(), writer: e.New()}
	k.fleet.Endless = e.Endless
	c := &cobra.Command{Use: e.Name + " --shards N [flags] -- COMMAND…", Short: e.Short, Long: e.Long, Example: e.Example}
	return core.Define(c, func(fs *pflag.FlagSet) {
		value.Declare(fs, value.GroupLoad, k.fleet.AddFlags)
		value.Declare(fs, value.GroupGenerator, func(fs *pflag.FlagSet) { k.writer.AddFlags(fs, k.fleet) })
	}, k.validate, k.run)
}

// validate reports every fault at once.
func (k *manifestCommand) validate(args []string) (faults []error) {
	wrong := k.load(args)
	return slices.Concat(k.writer.Validate(k.fleet), k.fleet.Validate(), wrong)
}

// load checks the command after --, and stores what a manifest needs of it. Settings of this
// process's environment are not used: the processes of the fleet have another one.
func (k *manifestCommand) load(command []string) []error {
	k.fleet.Span = unknownSpan
	env := k.env
	env.Getenv, env.Environ = func(string) string { return "" }, nil
	i, faults := inspect(env, command)
	if len(faults) > 0 {
		return faults
	}
	k.fleet.Command = command
	k.fleet.Span = 0 // of several runs: nobody knows
	if !core.RunsAnother(i.Command) {
		k.fleet.Span, k.fleet.Drain = span(i.Command.Flags())
	}
	names := env.Names(command)
	k.fleet.Reads, k.fleet.Writes = names.Reads, names.Writes
	k.warn(names.Secrets)
	return nil
}

// unknownSpan makes a wrong command the only fault: how long it runs matters later.
const unknownSpan = 1

// warn says what is probably a mistake in the load command.
func (k *manifestCommand) warn(secrets []string) {
	for _, name := range secrets {
		k.warnings = append(k.warnings, fmt.Sprintf("this text contains the value of --%s, which may be a secret; better leave the flag out, and set %s for the gatherer and the shards", name, value.Variable(name)))
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
	k.fleet.ID, k.fleet.Token = engine.NewID(time.Now()), string(fleet.NewToken())
	for _, warning := range k.warnings {
		fmt.Fprintln(k.env.Stderr, "takt: warning:", warning)
	}
	_, err := io.WriteString(k.env.Stdout, k.writer.Text(k.fleet))
	return err
}
