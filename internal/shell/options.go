package shell

import (
	"errors"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/value"
)

// defaultAddr is where the shell listens unless it is told otherwise.
const defaultAddr = "127.0.0.1:8234"

// Options are the settings of a shell.
type Options struct {
	Addr      string // host:port; "" with Unix: no TCP
	HTTP      string // host:port of the API; "": none
	Unix      string // path of a socket that only takt's user can open; "": none
	TokenFile string // lines of NAME TOKEN
	Cert, Key string // PEM files
	Insecure  bool   // allow an address beyond loopback without TLS
	AuditLog  string // file; "": no log

	Permits
	Team string // file with more of Permits; "": none

	Sandbox   Confinement
	Variables []string // environment variables that make, git and apm-server see, in all sessions

	DumpDir  string   // folder of the files that sessions name
	StateDir string   // folder of definitions, histories and waiting jobs; "": they end with the server
	Edit     bool     // sessions begin with the server's editing
	Store    string   // store of all runs; "": each user's choice
	Homes    []string // takt's own folders: stores, state and caches of this user

	Least time.Duration // shortest test whose report is stored; 0: 30 s
}

// AddFlags declares the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Addr = defaultAddr
	value.Declare(fs, value.GroupShell, o.addListenFlags, "addr", "http", "unix", "edit")
	value.Declare(fs, value.GroupSecurity, o.addAccessFlags, "token-file", "team", "tls-cert", "tls-key", "allow-target")
	value.Declare(fs, value.GroupApmServer, o.addServerFlags, "apm-folder")
	o.Sandbox.Mode = sandboxAuto
	value.Declare(fs, value.GroupSecurity, o.Sandbox.addFlags, "sandbox")
	value.Declare(fs, value.GroupStorage, o.addStoreFlag, "store")
}

func (o *Options) addListenFlags(fs *pflag.FlagSet) {
	fs.Var(value.Listen(&o.Addr), "addr", "listen on `HOST:PORT`; beyond loopback only with --token-file, and TLS or --insecure; none: listen only on --unix")
	fs.Var(value.Listen(&o.HTTP), "http", "also serve the commands as an HTTP API on `HOST:PORT`, with the rules of --addr; the token is sent as Bearer; behind a proxy only with --token-file, since whoever reaches the proxy would have your rights")
	fs.Var(value.Listen(&o.Unix), "unix", "also listen on the socket `PATH`, which only you can open")
	fs.BoolVar(&o.Edit, "edit", false, "sessions begin with edit on: the server edits the lines, for a telnet without rlwrap")
	fs.Var(value.OutFile(&o.DumpDir), "dump-dir", "`FOLDER` for the files that sessions name (default $XDG_DATA_HOME/takt/dumps)")
	fs.Var(value.OutFile(&o.AuditLog), "audit-log", "append every command, its user and its result to `FILE`, as lines of JSON")
}

func (o *Options) addAccessFlags(fs *pflag.FlagSet) {
	fs.Var(value.InFile(&o.TokenFile), "token-file", "a session must begin with auth TOKEN; `FILE` has lines of NAME TOKEN ROLE, where ROLE is look, run (default) or admin")
	fs.Var(value.InFile(&o.Team), "team", "read names for the team from `FILE`, as lines such as target = shop=https://shop.example; its other lines are apm-folder, apm-repository, apm-setting and allow-target; reload and SIGHUP read it again")
	fs.Var(value.InFile(&o.Cert), "tls-cert", "serve TLS with this certificate, PEM `FILE`")
	fs.Var(value.InFile(&o.Key), "tls-key", "key of the certificate, PEM `FILE`")
	fs.BoolVar(&o.Insecure, "insecure", false, "listen beyond loopback without TLS: others on the network can read the tokens")
	o.addTargetFlags(fs)
}

func (o *Options) addServerFlags(fs *pflag.FlagSet) {
	o.addApmFlags(fs)
	fs.Var(value.List(&o.Variables), "apm-env", "`NAME` of an environment variable that make, git and apm-server see, besides PATH, HOME and the like; repeatable")
}

func (o *Options) addStoreFlag(fs *pflag.FlagSet) {
	fs.Var(value.Store(&o.Store), "store", "store the runs of all users in `PATH|URL`, as takt http --store does")
}

// Validate reports every fault.
func (o *Options) Validate() []error {
	var faults value.Faults
	if o.Addr == "none" {
		o.Addr = ""
	}
	faults.If(o.Addr == "" && o.Unix == "" && o.HTTP == "", "--addr none leaves nothing to listen on; give --unix PATH or --http HOST:PORT")
	faults.If((o.Cert == "") != (o.Key == ""), "--tls-cert and --tls-key belong together; give both")
	o.checkAddr(&faults, "--addr", o.Addr, defaultAddr)
	o.checkAddr(&faults, "--http", o.HTTP, "127.0.0.1:8235")
	_, err := parseTargets(o.Allow)
	faults.Add(err)
	o.Sandbox.check(&faults)
	return append(faults, checkSettings(o.Settings)...)
}

// checkAddr checks an address to listen on; "": do not listen.
func (o *Options) checkAddr(faults *value.Faults, flag, addr, example string) {
	if addr == "" {
		return
	}
	host, _, err := net.SplitHostPort(addr)
	local := err == nil && door.IsLoopback(host)
	faults.If(err != nil, "bad %s %q; give HOST:PORT such as %s", flag, addr, example)
	faults.If(err == nil && !local && o.TokenFile == "", "%s %s can be reached from other machines, and whoever reaches it can load anything; give --token-file, or listen on 127.0.0.1", flag, addr)
	faults.If(err == nil && !local && o.Cert == "" && !o.Insecure, "%s %s without TLS sends tokens unencrypted; give --tls-cert and --tls-key, or --insecure", flag, addr)
}

// checkApart refuses a DumpDir that contains files or folders which sessions may not read or change.
func (o *Options) checkApart(folders folders) error {
	var faults []error
	apart := slices.Collect(maps.Values(folders))
	for _, path := range append(apart, o.TokenFile, o.Team, o.Key, o.AuditLog, o.StateDir) {
		if path != "" && o.dumpsHold(path) {
			faults = append(faults, value.Faultf("%s is in the folder of sessions' files %s, which every session can read and write; move it, or give another --dump-dir", path, o.DumpDir))
		}
	}
	return errors.Join(faults...)
}

// dumpsHold reports whether a path is in DumpDir.
func (o *Options) dumpsHold(path string) bool {
	path, err := filepath.Abs(path)
	return err == nil && isBelow(filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path)), realPath(o.DumpDir))
}

// Notes are hints for whoever starts the server.
func (o *Options) Notes() (notes []string) {
	if !o.local() && len(o.Allow)+len(o.Targets) == 0 && o.Team == "" {
		notes = append(notes, "sessions can load nothing: other machines can reach the server, so --allow-target has to list the targets")
	}
	return notes
}

// local reports whether only this machine can reach the shell.
func (o *Options) local() bool { return door.IsLocalAddr(o.Addr) && door.IsLocalAddr(o.HTTP) }
