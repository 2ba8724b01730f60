package cli

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/internal/value"
)

// traceConvert is the command that writes a log in another format.
type traceConvert struct {
	tracing
	output string
	base   string

	parsed *url.URL // base, parsed; nil: none
}

// The formats of takt trace convert.
const (
	toLoad   = "load"
	toVegeta = "vegeta"
)

func newTraceConvert(env core.Env) *cobra.Command {
	v := &traceConvert{tracing: newTracing(env), output: toLoad}
	return v.command(&cobra.Command{
		Use:   "convert LOG…",
		Short: "write a log as a load file, or as targets for vegeta",
		Example: `  takt trace convert /var/log/nginx/access.log > load.csv
  takt trace convert access.log.*.gz --path '^/api/' --methods GET --from 1000 --for 500
  takt trace convert access.log -o vegeta --base http://127.0.0.1:8080 > targets.json`,
	}, v.addFlags, v.validate, v.write)
}

func (v *traceConvert) addFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
		fs.VarP(value.Offering(value.Text(&v.output), "load", "vegeta"), "output", "o", "`FORMAT` on standard output: load, or vegeta (its format json)")
		fs.Var(value.Target(&v.base), "base", "with -o vegeta: `URL` of the server to load (default: the hosts in the log)")
	})
}

func (v *traceConvert) validate() (faults []error) {
	if v.output != toLoad && v.output != toVegeta {
		faults = append(faults, value.About(fmt.Errorf("unknown output %q; use load or vegeta", v.output), "output"))
	}
	if v.base == "" {
		return faults
	}
	if v.output == toLoad {
		faults = append(faults, value.Faultf("--base works only with -o vegeta: a load file has paths without hosts; leave it out"))
	}
	u, err := url.Parse(v.base)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		faults = append(faults, value.Faultf("--base %q is not a URL of a server; use one such as http://127.0.0.1:8080", value.HidePassword(v.base)))
	case u.Path != "" && u.Path != "/" || u.RawQuery != "":
		faults = append(faults, value.Faultf("--base %q has a path, but the paths come from the log; change them with --rewrite, as in '^=>/prefix'", value.HidePassword(v.base)))
	}
	v.parsed = u
	return faults
}

func (v *traceConvert) write(src trace.Stream) error {
	var c convert.Converted
	var err error
	if v.output == toVegeta {
		c, err = convert.ToVegeta(v.env.Stdout, src, v.parsed)
	} else {
		c, err = convert.ToLoad(v.env.Stdout, src)
	}
	if c.Refused > 0 {
		fmt.Fprintf(v.env.Stderr, "takt trace: %d requests cannot be written in the format %s, the first: %v\n", c.Refused, v.output, c.First)
	}
	if c.Bare > 0 {
		fmt.Fprintf(v.env.Stderr, "takt trace: the headers of %d requests are left out, because a load file cannot contain them; use -o vegeta to keep them\n", c.Bare)
	}
	if err == nil && c.Written == 0 && c.Refused > 0 {
		err = errors.New("no request could be written")
	}
	return err
}
