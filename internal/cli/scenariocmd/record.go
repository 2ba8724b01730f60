package scenariocmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/correlate"
	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/recorder"
	"github.com/taktload/takt/internal/scene"
	"github.com/taktload/takt/internal/tlsflags"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/internal/value"
)

// recording is takt scenario record.
type recording struct {
	env       core.Env
	proxy     recorder.Options
	correlate correlate.Options
	insecure  bool
	cacert    string
	authority string // folder
	lasts     time.Duration
	output    string
	load      string
}

func newRecord(env core.Env) *cobra.Command {
	r := &recording{env: env, output: "-", proxy: recorder.Options{Listen: "127.0.0.1:0"}}
	c := &cobra.Command{
		Use:   "record [flags]",
		Short: "record what a browser does as a scenario",
		Long: `takt scenario record is a proxy for a browser. Use the site, then press Ctrl-C here: takt
writes the requests as steps for --scenario. Values that an answer gave, such as tokens and
ids, become captures; ids and times that the page made become placeholders. What takt
cannot explain it lists on standard error and in the file.

For https the browser must trust the authority that takt makes; takt prints how. The file
has what was typed, passwords too.`,
		Example: `  takt scenario record -o steps.txt
  takt scenario record -o steps.txt --load load.csv --only shop.example --authority ~/.takt-authority`,
	}
	return core.Define(c, r.addFlags, r.validate, r.run)
}

func (r *recording) addFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupConnections, func(fs *pflag.FlagSet) {
		fs.Var(value.Listen(&r.proxy.Listen), "listen", "`HOST:PORT` of the proxy; port 0: any free one")
		fs.Var(value.OwnedPath(&r.authority, "a session opens no ports"), "authority", "keep the authority in `FOLDER`, so that a browser trusts it the next time, too (default: a new one in memory)")
		fs.BoolVar(&r.insecure, "insecure", false, "do not verify the server's certificate")
		fs.Var(value.InFile(&r.cacert), "cacert", "verify the server's certificate with the authorities in this PEM `FILE`")
	}, "listen", "authority")
	value.Declare(fs, value.GroupGeneral, func(fs *pflag.FlagSet) {
		fs.Var(value.Duration(&r.lasts), "for", "end after `TIME` (default: with Ctrl-C)")
		addOnly(fs, &r.correlate, "record only requests to `HOST`, repeatable; connections to others pass through (default: steps are of the host of most requests, and of others of its site and its redirects)")
	}, "for", "only", "static")
	value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
		fs.VarP(value.OutFile(&r.output), "output", "o", "write the scenario to `FILE`; - is standard output")
		fs.Var(value.OutFile(&r.load), "load", "write all requests with their times to `FILE`, too, as a load file for takt replay")
	}, "output", "load")
}

// addOnly adds the flags about which requests become steps.
func addOnly(fs *pflag.FlagSet, o *correlate.Options, only string) {
	fs.Var(value.List(&o.Only), "only", only)
	fs.BoolVar(&o.Static, "static", false, "keep images, fonts, styles and scripts as steps")
}

func (r *recording) validate(args []string) (faults []error) {
	if len(args) > 0 {
		faults = append(faults, fmt.Errorf("takt scenario record has no argument, not %.60q; the browser decides what is recorded", args[0]))
	}
	if _, _, err := net.SplitHostPort(r.proxy.Listen); err != nil {
		faults = append(faults, value.Faultf("--listen %q is not HOST:PORT; write one such as 127.0.0.1:0", r.proxy.Listen))
	}
	if r.lasts < 0 {
		faults = append(faults, value.Faultf("--for %s is below zero; give a time such as 1m", r.lasts))
	}
	if r.load == "-" || r.load != "" && r.load == r.output {
		faults = append(faults, value.Faultf("--load %s needs a file of its own; name one such as load.csv", r.load))
	}
	return faults
}

// say writes a line for the person at the browser.
func (r *recording) say(format string, args ...any) { say(r.env, format, args...) }

func say(env core.Env, format string, args ...any) {
	fmt.Fprintln(env.Stderr, "takt scenario:", foreign.Line(fmt.Sprintf(format, args...)))
}

func (r *recording) run(ctx context.Context, _ []string) error {
	outputs, err := openOutputs(r.output, r.load)
	if err != nil {
		return err
	}
	defer outputs.discard()
	if r.proxy.TLS, err = r.tls(); err != nil {
		return core.ExitWith(core.ExitUsage, err)
	}
	if r.proxy.Authority, err = recorder.OpenAuthority(r.authority); err != nil {
		return core.ExitWith(core.ExitUsage, err)
	}
	r.proxy.Only, r.proxy.Say = r.correlate.Only, func(text string) { r.say("%s", text) }
	p, err := recorder.Listen(r.proxy)
	if err != nil {
		return core.ExitWith(core.ExitUsage, err)
	}
	r.explain(p)
	if r.lasts > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, r.lasts)
		defer cancel()
	}
	served := p.Serve(ctx)
	list, notes := p.Exchanges()
	for _, n := range notes {
		r.say("%s", n)
	}
	if len(list) == 0 {
		return errors.Join(served, errors.New("nothing was recorded; use the proxy in the browser, and end takt after that"))
	}
	return errors.Join(served, write(r.env, list, r.correlate, "Recorded", outputs))
}

func (r *recording) tls() (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: r.insecure}
	if r.cacert == "" {
		return c, nil
	}
	var err error
	c.RootCAs, err = tlsflags.Authorities(tlsflags.ReadFile, r.cacert, "cacert")
	return c, err
}

// explain says how to use the proxy.
func (r *recording) explain(p *recorder.Recorder) {
	at, file := p.Addr().String(), filepath.Join(r.authority, recorder.CertificateFile)
	r.say("proxy at %s; use it in a browser, then press Ctrl-C here", at)
	if r.authority == "" {
		fmt.Fprintf(r.env.Stderr, "  curl -o %s http://%s/%[1]s\n", recorder.CertificateFile, at)
	}
	fmt.Fprintf(r.env.Stderr, "  curl --proxy http://%s --cacert %s https://…\n  chromium --user-data-dir=$(mktemp -d) --disable-background-networking --proxy-server=%[1]s '--proxy-bypass-list=<-loopback>' --ignore-certificate-errors-spki-list=%[3]s\n", at, file, r.proxy.Authority.SPKI())
	if host, _, _ := net.SplitHostPort(at); !door.IsLoopback(host) {
		r.say("other machines can use this proxy, and what they send is recorded; --listen 127.0.0.1:0 is for this machine alone")
	}
}

// outputs are the files that a recording writes.
type outputs struct{ scenario, load *outfile.File } // nil: standard output, or none

// openOutputs opens the files, so that a wrong path fails before anybody records.
func openOutputs(scenario, load string) (o outputs, err error) {
	for _, one := range []struct {
		to   **outfile.File
		path string
		flag string
	}{{&o.scenario, scenario, "output"}, {&o.load, load, "load"}} {
		if one.path == "-" || one.path == "" {
			continue
		}
		if *one.to, err = outfile.Open(one.path); err != nil {
			o.discard()
			return o, core.ExitWith(core.ExitUsage, fmt.Errorf("cannot write: %w; check --%s", err, one.flag))
		}
	}
	return o, nil
}

func (o *outputs) discard() {
	for _, f := range []*outfile.File{o.scenario, o.load} {
		if f != nil {
			f.Discard()
		}
	}
}

// write makes a scenario of exchanges, writes it, and says what was found.
func write(env core.Env, list []correlate.Exchange, o correlate.Options, verb string, to outputs) error {
	m := correlate.From(list, o)
	for _, n := range m.Notes {
		say(env, "%s", n)
	}
	for _, u := range m.Unknown {
		say(env, "not known where from: %s", u)
	}
	if len(m.Scene.Steps) == 0 {
		return errors.New("no request is left to make a step of; --only names the hosts, --static keeps static files")
	}
	m.Scene.Notes = m.Head(verb)
	say(env, "%s; %s from answers, %s made anew; the URL is %s", figure.Plural(len(m.Scene.Steps), "step"), figure.Plural(m.Captured, "value"), figure.Plural(m.Invented, "value"), m.Scene.Home())
	err := writeScenario(env, &m.Scene, to.scenario)
	if to.load == nil {
		return err
	}
	c, loaded := convert.ToLoad(to.load, correlate.Load(m.Sent))
	if loaded == nil {
		loaded = to.load.Close()
	}
	if c.Refused > 0 {
		say(env, "the load file is without %s: %v", figure.Plural(int(c.Refused), "request"), c.First)
	}
	if loaded != nil {
		loaded = fmt.Errorf("cannot write the load file: %w", loaded)
	}
	return errors.Join(err, loaded)
}

// writeScenario writes a scenario to the file, or to standard output: nobody wants to record again because a disk is full.
// It says what is wrong with the scenario, such as a file with values that is not there.
func writeScenario(env core.Env, s *scene.File, f *outfile.File) error {
	text := s.Text()
	if err := http.CheckScenario("the scenario", text, s.Home()); err != nil {
		for _, one := range core.Unjoin(err) {
			say(env, "to correct in the file: %s", core.OneLine(one))
		}
	}
	if f == nil {
		_, err := env.Stdout.Write(text)
		return err
	}
	_, err := f.Write(text)
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		return nil
	}
	_, lost := io.WriteString(env.Stdout, string(text))
	if lost == nil {
		return fmt.Errorf("cannot write the scenario: %w; it is on standard output instead", err)
	}
	return fmt.Errorf("cannot write the scenario: %w", errors.Join(err, lost))
}
