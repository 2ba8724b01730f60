package verifycmd

import (
	"cmp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/service"
	"github.com/taktload/takt/internal/value"
)

// commits are the flags of verify --git, which builds two commits and compares their servers.
type commits struct {
	commits string // BASE..HEAD; "": not given
	build   string
	slow    time.Duration // longest time of a build
	run     string
	ready   string
	status  int
	wait    time.Duration
	grace   time.Duration
	keep    bool // the servers run on between runs
	cores   cores
	stats   string // auto, off or a URL: where the servers' runtimes say what they count
	bisect  bool
	most    int // most pairs of a bisection

	when  service.Ready
	pages []string // of stats, to try
}

// startsNone is why a session has none of these flags.
const startsNone = "a session starts no programs on the server"

// Words of --server-stats and --profile besides a URL.
const (
	statsAuto = "auto"
	statsOff  = "off"
)

// pagesOf are the pages of --server-stats to try.
func (c *commits) pagesOf(command []string) ([]string, error) {
	switch c.stats {
	case statsOff:
		return nil, nil
	case "", statsAuto:
		return service.Pages(command, service.HeapPages()...), nil
	}
	if !isServerURL(c.stats) {
		return nil, value.Faultf("bad --server-stats %q; give auto, off, or a URL such as http://127.0.0.1:%s/debug/vars", value.HidePassword(c.stats), service.PortMark)
	}
	return []string{c.stats}, nil
}

const (
	readyTime = time.Minute
	graceTime = 10 * time.Second
	buildTime = 30 * time.Minute
)

func (c *commits) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Starting(value.Owned(&c.commits, startsNone)), "git", "compare the servers of two commits of the repository here, `BASE..HEAD`; BASE...HEAD compares from where HEAD left BASE; BASE alone compares with the working tree")
	fs.Var(value.Starting(value.Owned(&c.build, startsNone)), "build", "build a commit with `COMMAND` of the shell, once, in a checkout of takt's")
	fs.Var(value.Duration(&c.slow), "build-timeout", "end a build that has not ended after `TIME` (default 30m)")
	fs.Var(value.Starting(value.Owned(&c.run, startsNone)), "run", "start a server with `COMMAND` of the shell, such as './server -port {{.Port}}'; also in the variable PORT")
	fs.Var(value.Offering(value.Owned(&c.ready, startsNone), "tcp", "log:", "http://127.0.0.1:{{.Port}}/"), "ready", "a server is ready when `URL|tcp|tcp:HOST:PORT|log:REGEXP` answers, accepts connections, or is in its output (default tcp: the port accepts connections)")
	fs.IntVar(&c.status, "ready-status", 0, "`STATUS` that the URL of --ready must answer with (default: 200 to 399)")
	fs.Var(value.Duration(&c.wait), "ready-timeout", "give up when a server is not ready after `TIME` (default 1m)")
	fs.Var(value.Duration(&c.grace), "stop-timeout", "kill a server that has not ended `TIME` after SIGTERM (default 10s)")
	fs.BoolVar(&c.keep, "keep-running", false, "start each server once; without it each run, and each round of a duet, has a freshly started server, since two starts of one program differ")
	fs.Var(value.Offering(value.Owned(&c.stats, startsNone), statsAuto, statsOff, "http://127.0.0.1:{{.Port}}/debug/vars"), "server-stats", "read allocations and garbage collections before and after each run at `auto|off|URL` of the server: expvar, Prometheus, or pprof's allocs?debug=1 (default auto: /debug/vars, /metrics and others, of a load over http://)")
	fs.Var(value.Offering(value.Text(&c.cores.text), "auto"), "server-cpus", "let the servers use only these CPUs, `LIST|auto`, such as 2-3, and takt the others; auto: the later half of the cores, on a host with 4 CPUs or more (Linux)")
}

func (c *commits) addBisectFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&c.bisect, "bisect", false, "if head is worse, find the first commit that is, along the first parents")
	fs.IntVar(&c.most, "bisect-pairs", 100, "at most `N` pairs of runs for --bisect")
}

func (c *commits) on() bool { return c.commits != "" }

// meant is the load with the command http, if it begins with a URL, as a line of takt does.
func (c *commits) meant(command []string) []string {
	if !c.on() || len(command) == 0 || !core.IsURL(strings.ReplaceAll(command[0], service.PortMark, "1")) {
		return command
	}
	return append([]string{"http"}, command...)
}

// validate checks the flags of --git. TAKT_GIT with a folder is a setting of the load commands.
func (c *commits) validate(v *verifyCommand, command []string) (faults value.Faults) {
	if info, err := files.Stat(c.commits); c.on() && !v.env.Typed("git") && err == nil && info.IsDir() {
		c.commits = ""
	}
	if !c.on() && v.env.Typed("git") {
		return value.Faults{value.Faultf("--git is empty; give BASE..HEAD, and if it comes from a variable, set it")}
	}
	if !c.on() {
		return c.idle(v)
	}
	c.slow, c.wait, c.grace = cmp.Or(c.slow, buildTime), cmp.Or(c.wait, readyTime), cmp.Or(c.grace, graceTime)
	var err error
	if c.when, err = service.NewReady(c.ready, c.status); err != nil {
		faults = append(faults, err)
	}
	if err := c.cores.choose(); err != nil {
		faults = append(faults, err)
	}
	if c.pages, err = c.pagesOf(command); err != nil {
		faults = append(faults, err)
	}
	faults.If(len(v.base)+len(v.head) > 0, "--git names both sides, and --base or --head is given; leave one of them out")
	faults.If(v.env.Fleet != nil, "--git starts the servers on this machine, and a fleet has many; start them yourself, with --base and --head")
	faults.If(c.run == "", "--git needs --run with the command that starts a server, such as --run './server -port {{.Port}}'")
	faults.If(len(command) == 0 || strings.HasPrefix(command[0], "-"), "--git needs the load after --, with {{.Port}} in its URL: -- http --rate 500/s -z 5s 'http://127.0.0.1:{{.Port}}/'")
	faults.If(len(command) > 0 && c.fixed(command) && c.ready == "", "neither the load nor --ready has {{.Port}}; write it in the URL of the load, or give --ready if the server has a port of its own")
	faults.If(c.fixed(command) && (c.keep || v.duet.on), "both servers run at the same time, so they need two ports; write {{.Port}} in --run and in the URL of the load")
	faults.If(c.bisect && v.duet.on, "--bisect compares runs, and --duet makes no runs; leave --duet out")
	faults.If(c.most < 1, "bad --bisect-pairs %d; give a number above 0", c.most)
	faults.If(v.env.Typed("bisect-pairs") && !c.bisect, "--bisect-pairs limits --bisect; leave it out, or give --bisect")
	v.base, v.head = []string{"base"}, []string{"head"} // their servers have no addresses yet
	return faults
}

// fixed reports whether the server has a port of its own, so that only one can run.
func (c *commits) fixed(command []string) bool { return !service.HasPort(command...) }

// idle refuses flags that would do nothing without --git.
func (c *commits) idle(v *verifyCommand) (faults value.Faults) {
	for _, name := range []string{"build", "build-timeout", "run", "ready", "ready-status", "ready-timeout", "stop-timeout", "keep-running", "server-cpus", "server-stats", "bisect", "bisect-pairs"} {
		faults.If(v.env.Typed(name), "--%s is for --git; leave it out, or give --git BASE..HEAD", name)
	}
	return faults
}

// serverMetrics are judged beside those of the load, where takt can measure them.
func (c *commits) serverMetrics() []string {
	if !c.on() || runtime.GOOS != "linux" {
		return nil
	}
	return []string{stored.MetricMemory, stored.MetricServerCPU}
}

// isServerURL reports whether a text is a URL, perhaps with {{.Port}}.
func isServerURL(text string) bool {
	return core.IsURL(strings.ReplaceAll(text, service.PortMark, "1"))
}
