package ui

import (
	"net"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/value"
)

// defaultAddr is where the pages are unless --listen says something else.
const defaultAddr = "127.0.0.1:8236"

// unixPrefix begins the path of a socket in --listen.
const unixPrefix = "unix:"

// Options are the settings of the server.
type Options struct {
	Listen    string // host:port, or unix: and the path of a socket that only takt's user can open
	TokenFile string // lines of NAME TOKEN ROLE
	Cert, Key string // PEM files
}

// AddFlags declares the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Listen = defaultAddr
	value.Declare(fs, value.GroupShell, func(fs *pflag.FlagSet) {
		fs.Var(value.Listen(&o.Listen), "listen", "serve the pages on `HOST:PORT`, or on unix:PATH, a socket that only you can open; beyond loopback only with --token-file and TLS, and behind a proxy only with --token-file: whoever reaches the proxy would see what you see")
	}, "listen")
	value.Declare(fs, value.GroupSecurity, func(fs *pflag.FlagSet) {
		fs.Var(value.InFile(&o.TokenFile), "token-file", "ask browsers for a token, as the password of any user; `FILE` has lines of NAME TOKEN ROLE, as for takt server, and all roles may look")
		fs.Var(value.InFile(&o.Cert), "tls-cert", "serve TLS with this certificate, PEM `FILE`")
		fs.Var(value.InFile(&o.Key), "tls-key", "key of the certificate, PEM `FILE`")
	}, "token-file", "tls-cert", "tls-key")
}

// unix is the path of the socket; "": TCP.
func (o *Options) unix() string {
	path, _ := strings.CutPrefix(o.Listen, unixPrefix)
	if path == o.Listen {
		return ""
	}
	return path
}

// Validate reports every fault.
func (o *Options) Validate() []error {
	var faults value.Faults
	faults.If((o.Cert == "") != (o.Key == ""), "--tls-cert and --tls-key belong together; give both")
	if strings.HasPrefix(o.Listen, unixPrefix) {
		faults.If(o.unix() == "", "--listen unix: has no path; give unix:PATH such as unix:/run/user/1000/takt.sock")
		return faults
	}
	host, _, err := net.SplitHostPort(o.Listen)
	local := err == nil && door.IsLoopback(host)
	faults.If(err != nil, "bad --listen %q; give HOST:PORT such as %s, or unix:PATH", o.Listen, defaultAddr)
	faults.If(err == nil && !local && o.TokenFile == "", "--listen %s can be reached from other machines, and whoever reaches it can read all stored runs; give --token-file, or listen on 127.0.0.1", o.Listen)
	faults.If(err == nil && !local && o.Cert == "", "--listen %s without TLS sends tokens and reports unencrypted; give --tls-cert and --tls-key, or listen on 127.0.0.1", o.Listen)
	return faults
}
