package shell_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/shell"
)

// newFlags are those of takt server, with the defaults of a test.
func newFlags(o *shell.Options) *pflag.FlagSet {
	kept := *o
	fs := pflag.NewFlagSet("server", pflag.ContinueOnError)
	o.AddFlags(fs)
	*o = kept
	return fs
}

// environment is a process's for takt.
func environment(ctx context.Context, home string) core.Env {
	return core.Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Interrupt: ctx,
		Getenv: func(name string) string {
			return map[string]string{"XDG_DATA_HOME": home, "XDG_STATE_HOME": home}[name]
		},
	}
}

type homeKey struct{}

// withHome tells a Run where runs are kept.
func withHome(run shell.Run, home string) shell.Run {
	return func(ctx context.Context, abort <-chan struct{}, call shell.Call) int {
		return run(context.WithValue(ctx, homeKey{}, home), abort, call)
	}
}

// inProcess runs takt in this process, where the real shell starts it as a child.
func inProcess(ctx context.Context, abort <-chan struct{}, call shell.Call) int {
	interrupt, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(&core.SignalError{Number: 2}) })()
	env := environment(interrupt, ctx.Value(homeKey{}).(string))
	env.Stdout, env.Stderr, env.Abort = call.Out, call.Out, abort
	if call.Live != nil {
		env.Watchers = append(env.Watchers, func() live.Watcher { return live.Feed(call.Live) })
	}
	if call.Report != nil {
		env.Stdout = call.Report
	}
	env.Getenv = func(name string) string {
		for _, v := range call.Env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return environment(interrupt, ctx.Value(homeKey{}).(string)).Getenv(name)
	}
	return cli.Main(env, call.Args)
}

// confine confines this process to the folder of sessions until the test ends, as takt server confines
// itself and its jobs. So a test with jobs in its process, or plans with files, does not run in parallel.
func confine(t *testing.T, home string) {
	t.Helper()
	dir := filepath.Join(home, "dumps")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	free, err := files.Confine(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
}

// certificate makes one of its own authority, and its key, in PEM files.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plan := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	made, err := x509.CreateCertificate(rand.Reader, plan, plan, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", made), write("key.pem", "PRIVATE KEY", bytes)
}
