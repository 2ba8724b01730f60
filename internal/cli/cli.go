// Package cli is takt as a command: subcommands, flags, exit codes. Main takes arguments,
// streams and signals from its parameters, so it may run several times at once in one process.
package cli

import (
	"github.com/spf13/cobra"
	"github.com/taktload/takt/internal/cli/calibratecmd"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/fleetcmd"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/cli/loadcmd"
	"github.com/taktload/takt/internal/cli/programs"
	"github.com/taktload/takt/internal/cli/runscmd"
	"github.com/taktload/takt/internal/cli/scenariocmd"
	"github.com/taktload/takt/internal/cli/shellcmd"
	"github.com/taktload/takt/internal/cli/verifycmd"
	"github.com/taktload/takt/internal/shell"
)

// Main runs the command that args name and returns the process's exit code.
func Main(env core.Env, args []string) int {
	env, err := programs.With(whole(env), args)
	if err != nil {
		return env.Exit(err)
	}
	env.Args, env.Settings, env.Promises = args, &core.Settings{}, &core.Promises{}
	root := newRoot(env)
	if err = programs.Meant(env, root, args); err == nil {
		args, err = core.ParseFlags(env, root, args)
	}
	if err == nil {
		root.SetArgs(args)
		err = root.ExecuteContext(env.Interrupt)
	}
	return env.Exit(err)
}

// whole is env with the commands that run other commands.
func whole(env core.Env) core.Env {
	env.Main, env.Root, env.StoredRuns = Main, newRoot, kept.StoredRuns
	return env
}

// Root is the tree of commands, for what describes them.
func Root(env core.Env) *cobra.Command { return newRoot(whole(env)) }

// ShellHost is what the shell of takt server needs from takt.
func ShellHost(env core.Env) shell.Host { return shellcmd.Host(whole(env)) }

func newRoot(env core.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "takt",
		Short: "a load generator that tells the truth about what users feel",
		Long: `takt sends load on a schedule, measures every latency from the instant at which
the operation was due, and warns when takt itself was the bottleneck.
takt URL is takt http URL; takt --version (-V) is takt version.`,
		Example: `  takt http --rate 1000/s --duration 30s http://127.0.0.1:8080/
  takt target --service 1ms --freeze 1s/10s`,
		SilenceErrors: true, SilenceUsage: true,
		Args: core.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetHelpFunc(core.ShowHelp)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.AddCommand(newVersion(env), newTarget(env), newDemo(env), calibratecmd.New(env), newSelftest(env), newConfig(env),
		runscmd.NewRuns(env), runscmd.NewShow(env), runscmd.NewStore(env), runscmd.NewMerge(env), runscmd.NewCollate(env), verifycmd.NewCompare(env), verifycmd.New(env), runscmd.NewHistory(env), newJudge(env), runscmd.NewUI(env), newCapacity(env), fleetcmd.New(env), fleetcmd.NewShard(env), newTrace(env), scenariocmd.New(env))
	root.AddCommand(shellcmd.New(env), shellcmd.NewJob(env), shellcmd.NewEntry(env), newGuard(env), newMCP(env))
	loadcmd.Add(root, env)
	// cobra would add these in Execute, which is after ParseFlags searches the commands
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}
