package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/service"
	"github.com/taktload/takt/internal/value"
)

// demo is one command of takt, run against targets of takt.
type demo struct {
	name, short string
	targets     []string // the flags of each target
	shards      int      // processes of takt shard
	run         []string // the command; {1} is the URL of the first target, {page} the file of the page
	says        string   // what its output shows
}

// demos has the demo without a name first.
var demos = []demo{
	{name: "http", short: "a server that freezes, and what users feel of it",
		targets: []string{"--service 1ms --freeze 1s/5s"},
		run:     []string{"http", "--rate", "1000/s", "--connections", "50", "--duration", "12s", "--contrast", "5s", "-o", "html={page}", "{1}"},
		says: `The target stood still for 1 s in every 5. Its 50 connections were held up, so
only 50 requests met each freeze on the way: "service" knows of no others, and
neither does hey, a closed loop. "response" counts from the instant at which each
request was due: what users feel.`},
	{name: "verify", short: "is a server slower than before?",
		targets: []string{"--service uniform(1ms,3ms)", "--service uniform(1.1ms,3.3ms)"},
		run:     []string{"verify", "--base", "{1}", "--head", "{2}", "--budget", "20s", "-o", "html={page}", "--", "http", "--rate", "1000/s", "--connections", "50", "-z", "20s"},
		says: `The head serves each request 10 % more slowly than the base. takt sent the same load
to both in turn, in blocks of some milliseconds, so what disturbs this machine
disturbs both. Exit code 4 means a regression: a CI job fails by it.`},
	{name: "capacity", short: "how much can a server take?",
		targets: []string{"--service 8ms --servers 2"},
		run:     []string{"capacity", "--slo", "p95<60ms", "--start", "50/s", "-z", "3s", "--budget", "45s", "--need", "1000/s", "-o", "html={page}", "--", "http", "{1}"},
		says: `Two workers of 8 ms serve at most 250 requests a second. takt raised the rate until
the limit on p95 broke, and repeated the rates on both sides of the limit.`},
	{name: "fleet", short: "one run of two processes, with one exact report",
		targets: []string{"--service uniform(1ms,3ms)"}, shards: 2,
		run: []string{"fleet", "--shards", "2", "--listen", "127.0.0.1:{port}", "--", "http", "--rate", "1000/s", "-z", "5s", "-o", "html={page}", "{1}"},
		says: `Two processes of takt shard, which could be on two machines, began at the same instant
and sent every second request each. The percentiles are those of all requests, not
means of percentiles.`},
	{name: "llm", short: "a model server whose streams stall",
		targets: []string{"--sse 20ms --service 100ms --sse-tokens 50 --sse-stall 5%/500ms"},
		run:     []string{"llm", "--rate", "20/s", "-z", "10s", "--max-tokens", "50", "--model", "demo", "--slo", "ttft<300ms,maxgap<200ms", "-o", "html={page}", "{1}/v1/chat/completions"},
		says: `One stream in 20 stood still for half a second. The gaps of all streams together
hide that up to p99; "maxgap", the longest gap of each answer, does not, and these
answers are missing in the goodput.`},
	{name: "grpc", short: "gRPC calls with a deadline, while their server freezes",
		targets: []string{"--grpc --service 2ms --freeze 500ms/4s"},
		run:     []string{"grpc", "--rate", "200/s", "-z", "8s", "--deadline", "200ms", "-d", `{"body":"aGVsbG8="}`, "-o", "html={page}", "{1}/takt.Target/Unary"},
		says: `The target stood still for half a second in every 4. Calls that began early in a
freeze ended at their deadline of 200 ms, and count as deadline_exceeded; those of
its last 200 ms were only slow. takt asked the server's reflection for the method.`},
	{name: "judge", short: "does a load generator tell the truth? takt's own is judged here",
		run: []string{"judge", "--connections", "50", "-o", "html={page}", "--", "{takt}", "http", "--rate", "{{.Rate}}/s", "-z", "{{.Seconds}}s", "--connections", "{{.Connections}}", "-o", "json", "{{.URL}}"},
		says: `The target keeps a record of each request, so takt knows what users felt, and what
the generator says of it. The command after -- can be any load generator.`},
}

func newDemo(env core.Env) *cobra.Command {
	page := "takt-demo.html"
	var list strings.Builder
	for _, d := range demos {
		fmt.Fprintf(&list, "  takt demo %-9s %s\n", d.name, d.short)
	}
	c := &cobra.Command{
		Use:   "demo [NAME] [flags]",
		Short: "show what takt does, against targets on this machine",
		Long: `takt demo starts targets on this machine, runs a command of takt against them, and
explains what the output shows. It shows the command lines, so you can repeat them.`,
		Example:   strings.TrimSuffix(list.String(), "\n"),
		ValidArgs: names(demos),
	}
	core.AddFlags(c, func(fs *pflag.FlagSet) {
		value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
			fs.StringVar(&page, "page", page, "write the page to `FILE`")
		})
	})
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 || len(args) == 1 && !slices.Contains(c.ValidArgs, args[0]) {
			return core.Usage(cmd, []error{fmt.Errorf("%q is no demo; there are %s", strings.Join(args, " "), strings.Join(c.ValidArgs, ", "))})
		}
		return nil
	}
	c.RunE = func(_ *cobra.Command, args []string) error {
		d := demos[0]
		if len(args) == 1 {
			d = demos[slices.Index(c.ValidArgs, args[0])]
		}
		return d.show(env, page)
	}
	return c
}

func names(all []demo) (list []string) {
	for _, d := range all {
		list = append(list, d.name)
	}
	return list
}

// show starts the targets, runs the command, and explains its output. The exit code is that of the command.
func (d demo) show(env core.Env, page string) error {
	takt, err := env.Executable()
	if err != nil {
		return fmt.Errorf("takt does not find its own program, which a demo starts: %w", err)
	}
	s := stage{env: env, takt: takt, meant: []string{"{page}", page, "{takt}", takt}}
	defer s.clear()
	for i, flags := range d.targets {
		out, err := s.start(append([]string{"target"}, strings.Fields(flags)...), "--addr", "127.0.0.1:0")
		if err != nil {
			return err
		}
		url, err := addressIn(out)
		if err != nil {
			return err
		}
		s.meant = append(s.meant, fmt.Sprintf("{%d}", i+1), strings.TrimSuffix(url, "/"))
	}
	if d.shards > 0 {
		port, err := service.FreePort()
		if err != nil {
			return err
		}
		s.meant = append(s.meant, "{port}", strconv.Itoa(port))
	}
	for range d.shards {
		out, err := s.start([]string{"shard", "--fleet", "127.0.0.1:{port}"})
		if err != nil {
			return err
		}
		go io.Copy(io.Discard, out) //nolint:errcheck
	}
	run := s.words(d.run)
	fmt.Fprintf(env.Stdout, "$ takt %s\n", part.CommandLine(run))
	code := env.Main(env, run)
	if code == core.ExitOK || code == core.ExitRegression {
		fmt.Fprintf(env.Stdout, "\n%s\n\nThe same as a page: %s\n", d.says, page)
	}
	return core.ExitWith(code, nil)
}

// stage has the processes of a demo.
type stage struct {
	env     core.Env
	takt    string   // the program
	meant   []string // what stands for what, as of strings.NewReplacer
	running []*process.Fenced
}

func (s *stage) words(words []string) (list []string) {
	meant := strings.NewReplacer(s.meant...)
	for _, word := range words {
		list = append(list, meant.Replace(word))
	}
	return list
}

// start shows a command of takt, and starts it in the background; more are words that nobody has to repeat.
func (s *stage) start(words []string, more ...string) (stderr io.Reader, err error) {
	words = s.words(words)
	fmt.Fprintf(s.env.Stdout, "$ takt %s &\n", part.CommandLine(words))
	cmd := exec.Command(s.takt, append(words, more...)...)
	cmd.Env = s.env.Environ()
	if stderr, err = cmd.StderrPipe(); err != nil {
		return nil, err
	}
	p, err := process.LaunchFenced(cmd, nil)
	if err == nil {
		s.running = append(s.running, p)
	}
	return stderr, err
}

func (s *stage) clear() {
	for _, p := range s.running {
		p.Stop(time.Second)
	}
}

// addressIn reads the URL that a target prints, and what it prints afterwards.
func addressIn(out io.Reader) (url string, err error) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "takt target: "); ok {
			go io.Copy(io.Discard, out) //nolint:errcheck // a target whose output nobody reads would stop
			return url, nil
		}
	}
	return "", errors.New("the target did not start: " + lines.Text())
}
