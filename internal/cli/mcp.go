package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/cli/shellcmd"
	"github.com/taktload/takt/internal/mcp"
)

// newMCP is the command that an agent starts.
func newMCP(env core.Env) *cobra.Command {
	var o mcp.Options
	c := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "let an agent load servers and read runs, within your limits",
		Long: `takt mcp speaks the Model Context Protocol over standard input and output. An agent
starts it. Its tools are run, verify, capacity, compare, show and runs. What the agent
may load, how fast and for how long, you say here; the agent cannot change it.`,
		Example: `  takt mcp
  takt mcp --allow-target staging.example:443 --max-rate 200/s --max-duration 1m`,
	}
	core.AddFlags(c, o.AddFlags)
	core.Configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error {
		return core.Usage(cmd, append(core.AppendError(nil, core.NoArgs(cmd, args)), o.Validate()...))
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return serveAgent(cmd.Context(), env, o) }
	return c
}

// serveAgent serves the agent at the other end of standard input.
func serveAgent(ctx context.Context, env core.Env, o mcp.Options) (err error) {
	if env.Confine == nil || env.Restrict == nil {
		return errors.New("this program cannot confine an agent to a folder; use takt")
	}
	if o.Folder == "" {
		if o.Folder, err = env.UnderHome(core.DataHome, "mcp"); err != nil {
			return err
		}
	}
	if o.Folder, err = filepath.Abs(o.Folder); err != nil {
		return err
	}
	if err = os.MkdirAll(o.Folder, 0o700); err != nil {
		return fmt.Errorf("cannot create the folder of the agent: %w; give another --folder", err)
	}
	if o.Store != "" && !kept.IsCluster(o.Store) { // calls have another working directory
		if o.Store, err = filepath.Abs(o.Store); err != nil {
			return err
		}
	}
	host := shellcmd.Host(env)
	if _, err = host.Confine(o.Folder); err != nil { // a plan opens files, too
		return fmt.Errorf("cannot confine the agent to %s: %w; give another --folder", o.Folder, err)
	}
	s, err := mcp.New(o, host)
	if err != nil {
		return err
	}
	if core.IsTerminal(env.Stdin) {
		fmt.Fprintln(env.Stderr, "takt mcp: an agent starts this command and writes to its standard input; see docs/mcp.md")
	}
	return s.Serve(ctx, env.Abort, env.Stdin, env.Stdout)
}
