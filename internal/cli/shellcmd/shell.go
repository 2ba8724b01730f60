// Package shellcmd is takt server: it starts the jobs of the shell as processes, and says what the
// command lines of sessions may name.
package shellcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/shell"
)

// New returns takt server.
func New(env core.Env) *cobra.Command {
	var o shell.Options
	c := &cobra.Command{
		Use:   core.ServerCommand + " [flags]",
		Short: "serve a shell over TCP that defines, queues, runs and compares loads",
		Long: `Connect with rlwrap telnet 127.0.0.1 8234, a plain telnet (then say edit on), or from
scripts with nc. takt -server is the same. The commands of a session:

` + shell.Help(),
		Example: `  takt server
  takt server --unix ~/.takt.sock --addr none
  takt server --addr 0.0.0.0:8234 --token-file tokens --tls-cert cert.pem --tls-key key.pem --allow-target 10.0.0.0/8
  takt server --token-file tokens --apm-folder main=/src/apm-server --audit-log audit.ndjson
  takt server --http 127.0.0.1:8235 --token-file tokens --team team`,
	}
	core.AddFlags(c, o.AddFlags)
	core.Configurable(c)
	c.Args = func(cmd *cobra.Command, args []string) error {
		return core.Usage(cmd, append(core.AppendError(nil, core.NoArgs(cmd, args)), o.Validate()...))
	}
	env.Programs = nil // of this host: a visitor may not start them
	c.RunE = func(cmd *cobra.Command, _ []string) error { return host{env}.serveShell(cmd.Context(), o) }
	return c
}

// serveShell serves until a signal comes.
func (e host) serveShell(ctx context.Context, o shell.Options) (err error) {
	if e.Confine == nil {
		return errNotConfined
	}
	if o.DumpDir == "" {
		if o.DumpDir, err = e.UnderHome(core.DataHome, "dumps"); err != nil {
			return err
		}
	}
	if o.DumpDir, err = filepath.Abs(o.DumpDir); err != nil {
		return err
	}
	if o.Store != "" && !kept.IsCluster(o.Store) { // jobs have other working directories
		if o.Store, err = filepath.Abs(o.Store); err != nil {
			return err
		}
	}
	if o.StateDir, err = e.UnderHome(core.StateHome, "shell"); err != nil {
		return err
	}
	if o.Sandbox.Home, err = e.UnderHome(core.CacheHome, "sandbox"); err != nil {
		return err
	}
	if o.Homes, err = e.homes(); err != nil {
		return err
	}
	s, err := shell.Listen(o, Host(e.Env))
	if err != nil {
		return err
	}
	for _, addr := range s.Addrs() {
		fmt.Fprintf(e.Stderr, "takt server: %s\n", addr)
	}
	for _, note := range s.Notes() {
		fmt.Fprintf(e.Stderr, "takt server: %s\n", note)
	}
	if o.TokenFile != "" || o.Team != "" {
		defer e.reloads(s)()
	}
	err = s.Serve(ctx, e.Abort)
	var signal *core.SignalError
	if errors.As(err, &signal) {
		return core.ExitBy(signal, nil)
	}
	return err
}

// homes are the folders of takt: its store, its state with the spool, and its caches.
func (e host) homes() (all []string, err error) {
	for _, d := range core.Homes() {
		path, err := e.UnderHome(d, "")
		if err != nil {
			return nil, err
		}
		all = append(all, path)
	}
	return all, nil
}

// reloads lets SIGHUP read the files of the server again, until end. Without such files SIGHUP ends
// the server, as it ends other commands.
func (e host) reloads(s *shell.Server) (end func()) {
	c := make(chan os.Signal, 1)
	signal.Reset(syscall.SIGHUP)
	signal.Notify(c, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-c:
				if err := s.Reload(); err != nil {
					fmt.Fprintf(e.Stderr, "takt server: SIGHUP: %v; nothing has changed\n", err)
					continue
				}
				fmt.Fprintln(e.Stderr, "takt server: SIGHUP: the token file and the team file are read again")
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(c)
		close(done)
	}
}

// host is takt for the shell.
type host struct{ core.Env }

// Host is what the shell needs from takt. Its Run starts this program again.
func Host(env core.Env) shell.Host {
	env.Programs = nil // of this host: a visitor may not start them
	e := host{env}
	var confine func(dir string) (free func(), err error)
	if env.Confine != nil {
		confine = func(dir string) (func(), error) { return env.Confine(dir, nil) } // what it refuses, the plan says
	}
	h := shell.Host{Run: e.runChild, Confine: confine, Save: e.saveReport, Plan: e.planCall, Settings: settingsOf, Flags: e.flags, Version: core.Version, Docker: env.Getenv("DOCKER_HOST"), GoPath: env.Getenv("GOPATH")}
	if env.Executable != nil {
		h.Program, _ = env.Executable() // "": no sandbox
	}
	if home := env.Getenv("HOME"); h.GoPath == "" && home != "" {
		h.GoPath = filepath.Join(home, "go")
	}
	return h
}

// settingsOf reads the text of a file in the format of config files.
func settingsOf(file, text string) (list []shell.Setting, err error) {
	lines, faults := core.ParseConfig(file, text)
	for _, l := range lines {
		if l.Name() == "" {
			faults = append(faults, fmt.Errorf("%s: a team file has no sections; leave out the line with [", l.Where(file)))
			continue
		}
		list = append(list, shell.Setting{Where: l.Where(file), Name: l.Name(), Value: l.Value})
	}
	return list, errors.Join(faults...)
}

// flags lists the flags of the command that a line begins with.
func (e host) flags(line []string) (names []string) {
	cmd, _ := core.FindCommand(e.Root(e.Env), line)
	if !cmd.HasParent() {
		return nil
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}
