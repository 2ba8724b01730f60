package fleetcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/fleet"
	"github.com/taktload/takt/internal/fleet/manifest"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// defaultListen is where a gatherer listens if nothing else was said.
const defaultListen = "127.0.0.1:8400"

// mostShards is more than one gatherer can serve.
const mostShards = 10_000

// fleetCommand is the gatherer of a fleet.
type fleetCommand struct {
	env      core.Env
	shards   int
	started  bool // something else starts the shards
	listen   string
	patience time.Duration
	lost     float64 // share of the shards that may be lost
	secret   secret
}

// secret is the token that the gatherer and its shards have in common.
type secret struct {
	token takt.Secret
	file  string
}

// joinTime is how long processes of a fleet wait for each other by default.
const joinTime = 5 * time.Minute

// New returns takt fleet.
func New(env core.Env) *cobra.Command {
	f := &fleetCommand{env: env, listen: defaultListen, patience: joinTime}
	c := core.Define(&cobra.Command{
		Use:   "fleet --shards N -- COMMAND… | fleet manifest ENGINE",
		Short: "make one run of several machines: one start, one report, one exit code",
		Long: `This process gathers N shards, each started with takt shard on a machine of its own. It
sends them the command after --, starts them at one instant, shows the seconds of the
whole as they come, and merges the reports. The command is a load, takt capacity or
takt verify --pairs; its outputs, assertions and exit code are those of the whole.`,
		Example: `  takt fleet --shards 2 -- http --rate 1k/s -z 30s --assert 'p99<20ms' http://127.0.0.1:8080/
  takt fleet --shards 8 --listen :8400 -- capacity --slo 'p99<50ms' -- http http://shop/
  takt fleet manifest kubernetes --shards 8 --image takt -- http --rate 400k/s -z 5m http://shop/`,
	}, f.addFlags, f.validate, f.run)
	c.ValidArgsFunction = f.complete
	c.AddCommand(NewManifest(env))
	return c
}

func (f *fleetCommand) addFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupGeneral, func(fs *pflag.FlagSet) {
		fs.IntVar(&f.shards, "shards", f.shards, "wait for `N` shards")
		fs.Var(value.Listen(&f.listen), "listen", "listen on `ADDR` for shards, such as :8400 for those of other machines")
		fs.Var(value.Duration(&f.patience), "join-timeout", "fail if not all shards are ready after `TIME`")
		fs.Var(value.Share(&f.lost), "allow-lost", "go on while at most this `SHARE` of the shards is lost, such as 10%; the run is invalid all the same")
		f.secret.addFlags(fs)
		fs.BoolVar(&f.started, manifest.Started, false, "do not say how to start shards: the script of takt fleet manifest ssh starts them")
		fs.Lookup(manifest.Started).Hidden = true
	}, "shards", "listen")
}

func (s *secret) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Secret(&s.token), "fleet-token", "`TOKEN` that the gatherer and its shards have in common; better in TAKT_FLEET_TOKEN, since ps shows flags")
	fs.Var(value.InFile(&s.file), "fleet-token-file", "read the token from `FILE`")
}

// read returns the token; "": there is none.
func (s *secret) read() (fleet.Token, error) {
	token := fleet.Token(s.token)
	if s.file != "" {
		text, err := door.ReadPrivate(s.file)
		if err != nil {
			return "", fmt.Errorf("the token cannot be read: %w; check --fleet-token-file", err)
		}
		token = fleet.Token(strings.TrimSpace(string(text)))
		if token == "" {
			return "", value.Faultf("--fleet-token-file %s is empty; write a token into it, as with: openssl rand -hex 32", s.file)
		}
	}
	return token, token.Check()
}

func (s *secret) validate() (faults value.Faults) {
	faults.If(s.token != "" && s.file != "", "both --fleet-token and --fleet-token-file are given; keep one")
	return faults
}

// validate reports every fault at once. It checks the command, too, before shards come.
func (f *fleetCommand) validate(args []string) []error {
	faults := f.secret.validate()
	faults.If(f.shards == 0 && f.env.Typed("shards"), "--shards is 0; give a number from 1 to %d", mostShards)
	faults.If(f.shards == 0 && !f.env.Typed("shards"), "--shards is missing; say how many shards the fleet has, as in --shards 8")
	faults.If(f.shards < 0 || f.shards > mostShards, "--shards is %d; give a number from 1 to %d", f.shards, mostShards)
	_, port, err := net.SplitHostPort(f.listen)
	faults.If(err != nil || port == "", "--listen is %.60q; give HOST:PORT, or :PORT for all addresses", f.listen)
	faults.If(f.patience <= 0, "--join-timeout is %v; give a time above 0", f.patience)
	faults.If(f.lost >= 1, "--allow-lost is %s; give less than 100%%, since somebody must send the load", value.Share(&f.lost))
	_, wrong := inspect(f.env, args)
	return append(faults, wrong...)
}

// inspect checks the command that the fleet is to run, without running it.
func inspect(env core.Env, args []string) (core.Inspected, []error) {
	if faults := checkCommand(env, args); len(faults) > 0 {
		return core.Inspected{}, faults
	}
	env.Fleet = new(fleet.Gatherer) // a load then refuses what a fleet cannot do
	i, err := env.Inspect(args)
	return i, afterDashes(core.Unjoin(err))
}

func afterDashes(faults []error) []error {
	for i, fault := range faults {
		faults[i] = fmt.Errorf("after --: %w", fault)
	}
	return faults
}

// checkCommand refuses commands that make no run.
func checkCommand(env core.Env, args []string) []error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return []error{fmt.Errorf("takt fleet needs a command after --, as in -- http --rate 1k/s -z 30s http://127.0.0.1:8080/")}
	}
	root := env.Root(env)
	args = core.Meant(root, args)
	cmd, _ := core.FindCommand(root, args)
	switch name := core.CommandName(cmd); {
	case name == "capacity", name == "verify", core.IsLoad(cmd):
		return nil
	}
	if args[0] == "takt" {
		return []error{errors.New("leave takt out after --, as in -- http --rate 1k/s -z 30s http://127.0.0.1:8080/")}
	}
	return []error{fmt.Errorf("%q makes no run; give a load such as http after --, or capacity or verify", args[0])}
}

func (f *fleetCommand) run(ctx context.Context, args []string) error {
	token, err := f.secret.read()
	if err != nil {
		return core.ExitWith(core.ExitUsage, err)
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("%w; give another --listen", err)
	}
	defer l.Close()
	token, made, err := tokenFor(token, l.Addr(), door.TellsPeers())
	if err != nil {
		return core.ExitWith(core.ExitUsage, err)
	}
	stderr := f.env.Serial().Stderr
	f.announce(stderr, l.Addr(), token, made)
	g := fleet.New(fleet.Options{
		Shards: f.shards, Token: token, Version: core.Version, Patience: f.patience, Spare: int(math.Floor(f.lost * float64(f.shards))),
		Tell: func(text string) { fmt.Fprintf(stderr, "takt fleet: %s\n", foreign.Line(text)) },
	})
	go g.Serve(l)
	env := f.env
	env.Fleet = g
	code := env.Main(env, args)
	g.Close(code)
	return core.ExitWith(code, nil)
}

// tokenFor is the token of a gatherer that listens at an address. Who listens beyond this machine without
// a token gets one. On this machine, users keep a fleet apart from those of others, if the system tells
// users.
func tokenFor(token fleet.Token, at net.Addr, tells bool) (_ fleet.Token, made bool, err error) {
	switch {
	case token != "":
		return token, false, nil
	case !door.IsLocalAddr(at.String()):
		return fleet.NewToken(), true, nil
	case !tells:
		return "", false, errors.New("this system does not say which user's process connects, so a fleet needs a token; " + fleet.MakeToken)
	}
	return "", false, nil
}

// announce says how to start the shards.
func (f *fleetCommand) announce(w io.Writer, at net.Addr, token fleet.Token, made bool) {
	address := f.reach(at)
	switch {
	case f.started:
		fmt.Fprintf(w, "takt fleet: waiting for %s\n", shardsOf(f.shards))
	case made:
		fmt.Fprintf(w, "takt fleet: waiting for %s; start each with: TAKT_FLEET=%s TAKT_FLEET_TOKEN=%s takt shard\n", shardsOf(f.shards), address, token)
	case token != "":
		fmt.Fprintf(w, "takt fleet: waiting for %s; start each with: TAKT_FLEET=%s takt shard, and the token\n", shardsOf(f.shards), address)
	default:
		fmt.Fprintf(w, "takt fleet: waiting for %s; start each with: takt shard --fleet %s\n", shardsOf(f.shards), address)
	}
}

// reach is the address by which shards reach the gatherer, as far as this process knows it.
func (f *fleetCommand) reach(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "HOST"
	}
	return net.JoinHostPort(host, fmt.Sprint(tcp.Port))
}

func shardsOf(n int) string {
	if n == 1 {
		return "1 shard"
	}
	return fmt.Sprintf("%d shards", n)
}
