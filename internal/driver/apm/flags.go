package apm

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// SeedFlags are the long flags of hey-apm, which are written with one dash there.
func SeedFlags() []string {
	return []string{
		"base-url", "profile", "run", "requests", "timeout", "header", "disable-compression", "disable-keepalive",
		"disable-redirects", "describe", "dump", "endpoint", "method", "request-timeout", "idle-timeout", "stream",
	}
}

// AddFlags declares the flags on fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.addKindFlags(fs)
	o.addWayFlags(fs)
}

func (o *Options) addKindFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupTarget, o.addServerFlags)
	value.Declare(fs, value.GroupMessages, o.addEventFlags, "profile", "events")
	value.AddFormer(fs, value.GroupLoad, value.Former{Of: "hey-apm", Name: "run", Flag: "duration", Usage: "`TIME` of the load; hey-apm's name of --duration"})
}

func (o *Options) addServerFlags(fs *pflag.FlagSet) {
	fs.Var(value.Targets(&o.Servers), "base-url", "`URL` of a server, as the arguments; repeatable: in turn (default "+defaultURL+")")
	fs.Var(value.Text(&o.Endpoint), "endpoint", "`PATH` of the intake (default /intake/v2/events?verbose, whose answers count events)")
	fs.Var(value.Text(&o.Method), "method", "HTTP `METHOD`")
	fs.Var(value.Choice(&o.Intake, intakeV2, intakeV1), "intake", "protocol, `v2|v1`: events a line each, or the documents of apm-server 6")
}

func (o *Options) addEventFlags(fs *pflag.FlagSet) {
	fs.Var(value.Text(&o.Profile), "profile", "send a mix of hey-apm's instead: `NAME` is "+profileNames())
	fs.VarP(value.Plain(&o.Transactions), "transactions", "t", "`N` transactions in a request (default 6)")
	fs.VarP(value.Plain(&o.Errors), "errors", "e", "`N` errors in a request (default 3)")
	fs.VarP(value.Plain(&o.Spans), "spans", "s", "`N` spans of a transaction (default 7)")
	fs.VarP(value.Plain(&o.Frames), "frames", "f", "`N` stack frames of a span or an error (default 20)")
	fs.VarP(value.Plain(&o.Events), "events", "", "`N` events in a request instead: transactions with --spans each, or errors with --spans 0; --errors adds some")
	fs.BoolVar(&o.Stream, "stream", false, "a request goes on for --timeout: a body every --pause")
	fs.VarP(value.Duration(&o.Pause), "pause", "p", "`TIME` from one body of a streamed request to the next; 0: at once")
	fs.BoolVar(&o.Describe, "describe", false, "show what would be sent, and send nothing")
	fs.BoolVar(&o.Dump, "dump", false, "write what would be sent to PROFILE.yml as targets of loadbeat, and send nothing")
}

func (o *Options) addWayFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupSecurity, o.addKeyFlags, "secret-file")
	value.Declare(fs, value.GroupTarget, o.addHeaderFlags)
	value.Declare(fs, value.GroupConnections, o.addConnectionFlags, "timeout")
}

func (o *Options) addKeyFlags(fs *pflag.FlagSet) {
	fs.Var(value.Secret(&o.auth.Secret), "secret", "secret `TOKEN` of the server; better from TAKT_SECRET or --secret-file")
	fs.Var(value.InFile(&o.auth.SecretFile), "secret-file", "secret token of the server in `FILE`")
	fs.Var(value.Secret(&o.auth.Key), "api-key", "API `KEY`, ID:KEY or in base64; better from TAKT_API_KEY or --api-key-file")
	fs.Var(value.InFile(&o.auth.KeyFile), "api-key-file", "API key in `FILE`")
	o.conn.TLS.AddFileFlags(fs)
}

func (o *Options) addHeaderFlags(fs *pflag.FlagSet) {
	c := &o.conn
	fs.VarP(&c.Header, "header", "H", "`NAME: VALUE` of a header; repeatable")
}

func (o *Options) addConnectionFlags(fs *pflag.FlagSet) {
	c := &o.conn
	fs.Var(value.Duration(&c.Timeout), "timeout", "time limit for a request, or its length with --stream, `TIME`; a bare number means seconds")
	fs.Var(value.Duration(&c.Timeout), "request-timeout", "`TIME`; hey-apm's other name of --timeout")
	fs.Var(value.Duration(&c.ConnectTimeout), "connect-timeout", "time limit for connecting, with the TLS handshake, `TIME`")
	fs.Var(value.Duration(&o.idle), "idle-timeout", "`TIME`; has no effect, as in hey-apm")
	fs.BoolVar(&o.DisableCompression, "disable-compression", false, "send bodies as they are instead of with gzip")
	fs.BoolVar(&c.DisableKeepAlive, "disable-keepalive", false, "a new connection for every request")
	fs.BoolVar(&c.DisableRedirects, "disable-redirects", false, "has no effect: takt apm never follows redirects; a flag of hey-apm")
}

// Number is a flag with a number from 0 on.
type Number int

// unset is a Number that was not given.
const unset Number = -1

// maxNumber bounds a Number, so that a slip does not fill the memory.
const maxNumber = 100_000

// Set implements flag.Value.
func (n *Number) Set(s string) error {
	v, err := strconv.ParseUint(s, 10, 32)
	if err != nil || v > maxNumber {
		return fmt.Errorf("%q is not a number from 0 to %d", s, maxNumber)
	}
	*n = Number(v)
	return nil
}

// String implements flag.Value.
func (n *Number) String() string {
	if n == nil || *n == unset {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// or is the number, or what holds without one.
func (n Number) or(fallback int) int {
	if n == unset {
		return fallback
	}
	return int(n)
}
