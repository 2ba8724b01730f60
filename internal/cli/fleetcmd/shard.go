package fleetcmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/fleet"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// shardCommand is a member of a fleet.
type shardCommand struct {
	env      core.Env
	gatherer value.HostPort
	patience time.Duration
	secret   secret
	store    kept.Storing
	programs []string // that the fleet may start here
}

// NewShard returns takt shard.
func NewShard(env core.Env) *cobra.Command {
	s := &shardCommand{env: env, gatherer: value.HostPort{Host: "127.0.0.1", Port: "8400"}, patience: joinTime}
	return core.Define(&cobra.Command{
		Use:   "shard [--fleet HOST:PORT]",
		Short: "send a shard of the load of takt fleet",
		Long: `This process connects to takt fleet, which says what to send, which part of it, and when
to start. It reads the files of the load only in the folder in which it starts. Its exit
code is 0 when the gatherer has its report, or that of the signal that ended it. Settings
of a load can also come from this process's environment, such as a password that only this
host has.`,
		Example: `  takt shard
  TAKT_FLEET=10.0.0.1:8400 TAKT_FLEET_TOKEN=… takt shard`,
	}, s.addFlags, s.validate, s.run)
}

func (s *shardCommand) addFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupGeneral, func(fs *pflag.FlagSet) {
		fs.Var(value.Address(&s.gatherer), "fleet", "`HOST:PORT` of takt fleet")
		fs.Var(value.Duration(&s.patience), "join-timeout", "try to connect for `TIME`; takt fleet may start later than its shards")
		fs.Var(value.Starting(value.List(&s.programs)), "program", "let the fleet start the program `PATH` on this host; repeatable")
		s.secret.addFlags(fs)
	}, "fleet")
	s.store.AddFlags(fs)
}

func (s *shardCommand) validate(args []string) []error {
	faults := s.secret.validate()
	faults.If(len(args) > 0, "takt shard takes no arguments but got %q; the command is given to takt fleet", args)
	faults.If(s.patience <= 0, "--join-timeout is %v; give a time above 0", s.patience)
	return faults
}

func (s *shardCommand) run(ctx context.Context, _ []string) error {
	token, err := s.secret.read()
	if err != nil {
		return core.ExitWith(core.ExitUsage, err)
	}
	if err := s.confine(); err != nil {
		return err
	}
	host, _ := os.Hostname() // "": the gatherer takes the address
	m, err := fleet.Dial(ctx, fleet.Join{
		Address: s.gatherer.String(), Token: token, Patience: s.patience,
		Hello:   fleet.Hello{Version: core.Version, Host: host},
		Waiting: func(err error) { s.say("waiting for the gatherer: %v", err) },
	})
	if err != nil {
		return s.ended(ctx, err)
	}
	defer m.Close()
	s.say("this is shard %s of the fleet of %s", m.Shard, s.gatherer)
	sent := false
	for {
		r, err := m.Next(ctx)
		if ended := (*fleet.EndedError)(nil); errors.As(err, &ended) && sent {
			err = nil // another's fault, or that of the target
		}
		if r == nil {
			return s.ended(ctx, err)
		}
		if err := s.make(ctx, r); err != nil {
			return s.ended(ctx, err)
		}
		sent = true
	}
}

// confine keeps whatever the gatherer names inside of this folder, except what this process's own settings name.
func (s *shardCommand) confine() error {
	if s.env.Confine == nil {
		return nil
	}
	if _, err := files.ConfineShard(); err != nil {
		return fmt.Errorf("takt shard reads files only in the folder in which it starts: %w; start it in a folder that you can read", err)
	}
	for _, path := range s.programs {
		files.Trust(path)
	}
	return nil
}

func (s *shardCommand) say(format string, args ...any) {
	fmt.Fprintf(s.env.Stderr, "takt shard: %s\n", foreign.Line(fmt.Sprintf(format, args...)))
}

// ended is the error at the end of the process.
func (s *shardCommand) ended(ctx context.Context, err error) error {
	if signal := core.SignalOf(ctx); signal != nil {
		return core.ExitBy(signal, signal)
	}
	return err
}

// make makes a run, and delivers its report.
func (s *shardCommand) make(ctx context.Context, r *fleet.Run) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.Context, func() { cancel(context.Cause(r.Context)) })()
	var said tail
	env := s.env
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), io.Discard, &said
	part := &side{run: r}
	over := make(chan struct{})
	defer close(over)
	env.Vet, env.Owner = core.VetShard, true
	env.Programs = func(path string) bool { return slices.Contains(s.programs, path) }
	env.Interrupt, env.Abort, env.Side, env.Quit = ctx, either(over, r.Abort, s.env.Abort), part, nil
	env.Watchers = append(slices.Clip(env.Watchers), func() live.Watcher { return live.Watcher{Second: r.Second} })
	part.reads = env.Names(r.Words).Reads
	code := env.Main(env, r.Words)
	ended := context.Cause(r.Context) // nil: the run ended by itself
	if part.report == nil {
		r.Fail(fleet.Failure{Code: code, Reason: said.reason()})
		if ended != nil && core.SignalOf(ctx) == nil { // what the command said is only a consequence
			return ended
		}
		_, _ = s.env.Stderr.Write(said.Bytes())
		return core.ExitWith(core.ExitFailed, nil)
	}
	_, _ = s.env.Stderr.Write(said.Bytes())
	err := r.Deliver(part.report, early(ctx, part.report))
	if err != nil && ended != nil {
		part.report.Warn(warn.BrokeOff, "the run ended before its time: %v", err)
	}
	sent := part.report.Counts.Sent + part.report.WarmupCounts.Sent
	if err != nil && sent > 0 && s.store.Keep(s.env, part.report) {
		s.say("what this shard measured is stored; to see it: %s", s.store.ShowCommand(s.env, part.report.ID))
	}
	return err
}

// either is closed when a or b is, until over.
func either(over, a, b <-chan struct{}) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		select {
		case <-a:
			close(c)
		case <-b:
			close(c)
		case <-over:
		}
	}()
	return c
}

// early says why a run ended before its schedule; "": it did not, or the gatherer ended it.
func early(ctx context.Context, r *takt.Report) string {
	if signal := core.SignalOf(ctx); signal != nil {
		return "it was " + signal.Error()
	}
	for _, w := range r.Warnings {
		if w.Code == warn.BrokeOff || w.Code == warn.Aborted {
			return w.Message
		}
	}
	return ""
}

// side makes a run a shard of the fleet. It implements core.Side.
type side struct {
	run    *fleet.Run
	reads  []string // files that the load reads
	report *takt.Report
}

// Source returns all operations: --shard has chosen them.
func (s *side) Source(all takt.Source, _ time.Duration) (takt.Source, error) { return all, nil }

// Join lets the gatherer start the run.
func (s *side) Join(p *engine.Plan, known core.Known) {
	p.Words.SpreadLoad = "spread the run over more shards"
	p.Meet = func(ctx context.Context) (time.Time, error) {
		if err := s.run.Check(known.Settings); err != nil {
			if other := (*fleet.OtherLoadError)(nil); errors.As(err, &other) {
				other.Files = s.reads
			}
			return time.Now(), err
		}
		return s.run.Meet(ctx, fleet.Ready{Head: known.Head, Files: digests(s.reads)})
	}
}

// digests are those of files, by name. They tell another file, or another version of it, from the right
// one: a log of gigabytes is not read twice for that.
func digests(names []string) map[string]string {
	all := map[string]string{}
	for _, name := range names {
		if text, err := digest(name); err == nil { // else the load itself says why
			all[name] = text
		}
	}
	return all
}

// digestPart is how much of a file's begin and end its digest covers, in bytes.
const digestPart = 1 << 20

func digest(name string) (string, error) {
	f, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, os.ErrInvalid)
	}
	h := sha256.New()
	fmt.Fprintln(h, info.Size())
	_, err = io.Copy(h, io.NewSectionReader(f, 0, digestPart))
	if err == nil {
		_, err = io.Copy(h, io.NewSectionReader(f, max(0, info.Size()-digestPart), digestPart))
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// Over keeps the report.
func (s *side) Over(r *takt.Report) { s.report = r }

// tail keeps the last lines of what a command prints.
type tail struct{ bytes.Buffer }

// mostTail is how much of it is kept, in bytes.
const mostTail = 64 << 10

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	n, err := t.Buffer.Write(b)
	if extra := t.Len() - mostTail; extra > 0 {
		t.Next(extra)
	}
	return n, err
}

// reason is the errors of the command: the lines that begin with takt:, but for its warnings.
func (t *tail) reason() string {
	var list []string
	for line := range strings.Lines(t.String()) {
		text, found := strings.CutPrefix(strings.TrimSpace(line), "takt: ")
		if found && !strings.HasPrefix(text, "warning: ") {
			list = append(list, text)
		}
	}
	if list == nil {
		return "it ended without a word"
	}
	return strings.Join(list, "; ")
}
