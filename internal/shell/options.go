package shell

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"strings"
	"time"
)

// DefaultAddr is where the shell listens unless it is told otherwise.
const DefaultAddr = "127.0.0.1:8234"

// Options are the settings of a shell.
type Options struct {
	Addr      string   // host:port; "" with Unix: no TCP
	Unix      string   // path of a socket for the user's own; "": none
	TokenFile string   // lines of NAME TOKEN
	Cert, Key string   // PEM files
	Insecure  bool     // tokens go over the network in clear text
	Allow     []string // hosts that may be loaded
	DumpDir   string   // for files that sessions name
	StateDir  string   // for what outlives the server; "": nothing does
	Edit      bool     // sessions begin with the server's editing
	Store     string   // of all runs; "": each user's choice

	Least time.Duration // a shorter test is not kept; 0: 30 s
}

type list []string

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

func (l *list) String() string { return strings.Join(*l, ",") }

// AddFlags declares the flags.
func (o *Options) AddFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.Addr, "addr", DefaultAddr, "listen on `HOST:PORT`; beyond loopback only with --token-file, and TLS or --insecure; none listens on --unix alone")
	fs.StringVar(&o.Unix, "unix", "", "listen on the socket `PATH` too, which only you can open")
	fs.StringVar(&o.TokenFile, "token-file", "", "users have to say auth TOKEN first; lines of NAME TOKEN in `FILE`")
	fs.StringVar(&o.Cert, "tls-cert", "", "serve TLS with this certificate, PEM `FILE`")
	fs.StringVar(&o.Key, "tls-key", "", "key of the certificate, PEM `FILE`")
	fs.BoolVar(&o.Insecure, "insecure", false, "listen beyond loopback without TLS: tokens can be read on the way")
	fs.Var((*list)(&o.Allow), "allow-target", "`HOST[:PORT]` or network such as 10.0.0.0/8 that may be loaded, * for all; repeatable; without it all on loopback, and none beyond it")
	fs.StringVar(&o.DumpDir, "dump-dir", "", "`FOLDER` for the files that sessions name (default $XDG_DATA_HOME/takt/dumps)")
	fs.BoolVar(&o.Edit, "edit", false, "sessions begin with edit on: the server does the editing, as for a telnet without rlwrap")
	fs.StringVar(&o.Store, "store", "", "keep the runs of all in `PATH|URL`, as of takt http --store")
}

// Validate reports every fault.
func (o *Options) Validate() (faults []error) {
	if o.Addr == "none" {
		o.Addr = ""
	}
	local := true
	switch host, _, err := net.SplitHostPort(o.Addr); {
	case o.Addr == "":
		if o.Unix == "" {
			faults = append(faults, errors.New("--addr none leaves nothing to listen on; give --unix PATH"))
		}
	case err != nil:
		faults = append(faults, fmt.Errorf("bad --addr %q; give HOST:PORT such as %s", o.Addr, DefaultAddr))
	default:
		local = isLoopback(host)
	}
	if (o.Cert == "") != (o.Key == "") {
		faults = append(faults, errors.New("--tls-cert and --tls-key belong together; give both"))
	}
	if !local && o.TokenFile == "" {
		faults = append(faults, fmt.Errorf("--addr %s can be reached from other machines, and whoever reaches it can load anything; give --token-file, or listen on 127.0.0.1", o.Addr))
	}
	if !local && o.Cert == "" && !o.Insecure {
		faults = append(faults, fmt.Errorf("--addr %s without TLS shows tokens to whoever listens on the way; give --tls-cert and --tls-key, or --insecure", o.Addr))
	}
	_, err := parseTargets(o.Allow)
	if err != nil {
		faults = append(faults, err)
	}
	return faults
}

// local reports whether only this machine can reach the shell.
func (o *Options) local() bool {
	host, _, err := net.SplitHostPort(o.Addr)
	return o.Addr == "" || err == nil && isLoopback(host)
}

// isLoopback is strict: a name other than localhost may point anywhere tomorrow.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
