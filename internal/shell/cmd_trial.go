package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/apmserver"
	"github.com/taktload/takt/internal/driver/apm"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

const testHelp = `test 30s 1 2 3 4 -E apm-server.tracing.enabled=true sends requests for 30 s, each of 1
event with 2 spans of 3 frames, by 4 workers; without spans the events are errors. Each
worker sends its next request after the answer to the previous one, unless a rate is given.
The report says how many of the expected documents the cluster has: those of the requests
that the server accepted. Below 90 %, the server often accepts more than the cluster indexes.
Memory efficiency is the volume accepted in a minute, divided by the largest memory.
  -E NAME=VALUE        a setting of apm-server; repeatable
  --rate, --throttle R requests per second, of all workers together
  --mem 4g, --cpu 2    limits, only for a container
  --label TEXT         a label of the report, or NAME=VALUE
  --cooldown 10s       pause between the load and the count, not part of the duration
  --repeat N           number of tests, one after the other
  --intake v1|v2       protocol (default v2)
  --errors N           additional errors in each request
  --agents N           the same as WORKERS, which you then leave out
  --stream, --pause T, --timeout T, --secret TOKEN, --api-key KEY    as for takt apm`

// trial is one test command.
type trial struct {
	words    []string // as typed, without secrets
	duration time.Duration
	numbers  [4]int   // events, spans, frames, workers
	flags    []string // apm-server's settings, NAME=VALUE
	rate     float64
	memory   int64 // bytes; 0: no limit
	cpu      float64
	label    []string
	cooldown time.Duration
	repeat   int
	secret   string
	load     []string // flags that takt apm gets as typed
	plain    bool     // jobs do not see the secrets in the shell's environment
	by       *session // sees what the test prints
}

// flagSet declares the options.
func (t *trial) flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Var(value.List(&t.flags), "E", "")
	fs.Var((*schedule.RateValue)(&t.rate), "rate", "")
	fs.Var((*schedule.RateValue)(&t.rate), "throttle", "")
	fs.Var(value.Size(&t.memory), "mem", "")
	fs.Float64Var(&t.cpu, "cpu", 0, "")
	fs.Var(value.List(&t.label), "label", "")
	fs.Var((*schedule.DurationValue)(&t.cooldown), "cooldown", "")
	fs.IntVar(&t.repeat, "repeat", 1, "")
	fs.IntVar(&t.numbers[3], "agents", 0, "")
	for _, name := range []string{"errors", "pause", "timeout", "intake", "secret", "api-key"} {
		fs.Func(name, "", func(value string) error {
			t.load = append(t.load, "--"+name, value)
			if name == "secret" {
				t.secret = value
			}
			return nil
		})
	}
	fs.BoolFunc("stream", "", func(string) error {
		t.load = append(t.load, "--stream")
		return nil
	})
	return fs
}

// parse reads the numbers, then the options after them.
func (t *trial) parse(args []string) (faults []error) {
	n := 0
	for n < len(args) && !strings.HasPrefix(args[n], "-") {
		n++
	}
	fs := t.flagSet()
	if err := fs.Parse(args[n:]); err != nil {
		faults = append(faults, fmt.Errorf("%w; help test lists the options", err))
	} else if fs.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected %q after the options; quote a value with spaces", fs.Arg(0)))
	}
	if n != 5 && (n != 4 || t.numbers[3] == 0) {
		return append(faults, errors.New("write test DURATION EVENTS SPANS FRAMES WORKERS, as in test 30s 1 2 3 4"))
	}
	if err := (*schedule.DurationValue)(&t.duration).Set(args[0]); err != nil || t.duration <= 0 {
		faults = append(faults, fmt.Errorf("bad DURATION %q; give one such as 30s", args[0]))
	}
	for i, name := range []string{"EVENTS", "SPANS", "FRAMES", "WORKERS"}[:n-1] {
		v, err := strconv.Atoi(args[i+1])
		if err != nil || v < 0 || v == 0 && (i == 0 || i == 3) {
			faults = append(faults, fmt.Errorf("bad %s %q; give a whole number", name, args[i+1]))
		}
		t.numbers[i] = v
	}
	if !(t.cpu >= 0 && t.cpu <= 1<<20) {
		faults = append(faults, fmt.Errorf("--cpu is %g; give a number of cores, such as 0.5", t.cpu))
	}
	if t.repeat < 1 || t.repeat > 1000 {
		faults = append(faults, fmt.Errorf("--repeat is %d; give a number from 1 to 1000", t.repeat))
	}
	return faults
}

// args is the load as a command line of takt, without the servers' URLs.
func (t *trial) args() []string {
	n := t.numbers
	args := []string{
		"apm", "--no-store", "-o", "json=-", "--events", strconv.Itoa(n[0]), "--spans", strconv.Itoa(n[1]), "--frames", strconv.Itoa(n[2]),
		"--connections", strconv.Itoa(n[3]), "--duration", t.duration.String(),
	}
	if t.rate > 0 {
		args = append(args, "--rate", schedule.FormatRate(t.rate))
	}
	for _, l := range t.label {
		if !strings.Contains(l, "=") {
			l = "label=" + l
		}
		args = append(args, "--label", l)
	}
	return append(args, t.load...)
}

func prepareTest(c *session, args []string) (action, error) {
	t := &trial{}
	faults := t.parse(args)
	t.words = hideValues(args, "secret", "api-key")
	a := action{shown: join(append([]string{"test"}, t.words...)), secret: !slices.Equal(t.words, args)}
	if err := c.maySet(t.flags); err != nil {
		faults = append(faults, err)
	}
	if len(faults) == 0 {
		if _, err := c.server.host.Plan(append(t.args(), "http://127.0.0.1:8200"), Rules{}); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return a, errors.Join(faults...)
	}
	a.queued = t.task
	return a, nil
}

// hideValues replaces the values of the named options, and of secret settings of
// apm-server, by xxxxx.
func hideValues(words []string, names ...string) []string {
	shown := slices.Clone(words)
	for i, w := range shown {
		name, _, inOne := strings.Cut(strings.TrimLeft(w, "-"), "=")
		switch {
		case strings.HasPrefix(w, "-") && slices.Contains(names, name) && inOne:
			shown[i] = w[:strings.Index(w, "=")+1] + takt.Redacted
		case strings.HasPrefix(w, "-") && slices.Contains(names, name) && i+1 < len(shown):
			shown[i+1] = takt.Redacted
		case secretIn(w) != "":
			shown[i] = strings.TrimSuffix(w, secretIn(w)) + takt.Redacted
		}
	}
	return shown
}

// secretIn is the value of a word NAME=VALUE or -E=NAME=VALUE if NAME is a secret setting
// of apm-server, else "".
func secretIn(word string) string {
	name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimLeft(word, "-"), "E="), "=")
	if !apmserver.IsSecret(name) {
		return ""
	}
	return value
}

// task returns the job, with the server and the cluster that are chosen now.
func (t *trial) task(c *session) (task, error) {
	now := c.user.testbed.now()
	if now.server == nil {
		return nil, errNoServer
	}
	l := now.server.Location()
	if err := c.mayUse(l); err != nil {
		return nil, err
	}
	if err := l.CheckLimits(&apmserver.Options{MemoryLimit: t.memory, CPULimit: t.cpu}); err != nil {
		return nil, fmt.Errorf("test: %w", err)
	}
	t.plain, t.by = !c.own, c
	s, testbed := c.server, &c.user.testbed
	return func(ctx context.Context, abort <-chan struct{}, log *log) int {
		testbed.change(func() { testbed.testing = true })
		defer testbed.change(func() { testbed.testing = false })
		for i := range t.repeat {
			if t.repeat > 1 {
				fmt.Fprintf(log, "test %d of %d\n", i+1, t.repeat)
			}
			if err := t.run(ctx, abort, s, now, log); err != nil {
				fmt.Fprintln(log, "error:", c.seenError(err))
				return 1
			}
		}
		return 0
	}, nil
}

// run does one test and stores its report.
func (t *trial) run(ctx context.Context, abort <-chan struct{}, s *Server, now setting, log *log) error {
	var flags []string
	for _, f := range t.flags {
		flags = append(flags, "-E", f)
	}
	one := apmserver.Trial{
		Server: now.server, Documents: now.cluster, Cooldown: t.cooldown, Least: s.options.Least, Out: t.by.seenBy(log),
		Options: apmserver.Options{Flags: flags, MemoryLimit: t.memory, CPULimit: t.cpu, Secret: takt.Secret(t.secret), Log: now.log},
		Variables: map[string]any{
			"events": t.numbers[0], "spans": t.numbers[1], "frames": t.numbers[2], "workers": t.numbers[3], "duration_s": t.duration.Seconds(),
		},
		Load: func(ctx context.Context, urls ...string) (*takt.Report, error) {
			return t.loadNow(ctx, abort, s, log, urls)
		},
	}
	r, err := one.Run(ctx)
	if r != nil {
		fmt.Fprintln(log)
		err = errors.Join(err, apmserver.Block(log, r, t.words), report.Server(log, r))
	}
	if ctx.Err() != nil {
		return errors.New("work cancelled; nothing was saved")
	}
	if err != nil {
		return err
	}
	return t.save(ctx, s, now, r, log)
}

// loadNow runs takt apm and returns its report.
func (t *trial) loadNow(ctx context.Context, abort <-chan struct{}, s *Server, log *log, urls []string) (*takt.Report, error) {
	var report bytes.Buffer
	reaches := slices.Clone(s.now().reaches)
	for _, u := range urls { // of servers that were named here, or that takt started
		reaches = append(reaches, hostOfTarget(u))
	}
	call := Call{Args: append(t.args(), urls...), Reaches: reaches, Dir: s.options.DumpDir, Out: t.by.seenBy(log), Live: &log.live, Report: &report, Plain: t.plain}
	code := s.host.Run(ctx, abort, call)
	r := &takt.Report{}
	if err := json.Unmarshal(report.Bytes(), r); err != nil {
		return nil, fmt.Errorf("the load ended with exit code %d and without a report", code)
	}
	return r, nil
}

// save stores the report, unless a warning in the report says that it is not comparable.
func (t *trial) save(ctx context.Context, s *Server, now setting, r *takt.Report, log *log) error {
	if r.Warned(warn.NotComparable) {
		fmt.Fprintln(log, "report not saved")
		return nil
	}
	fmt.Fprintln(log, "saving report")
	call := Call{Env: s.storeEnv(now.cluster, !t.plain), Dir: s.options.DumpDir, Plain: t.plain}
	if err := s.host.Save(ctx, call, r); err != nil {
		return fmt.Errorf("the report was not saved: %w", err)
	}
	where := "the store"
	if s.options.Store == "" && now.cluster != nil {
		where = "elasticsearch"
	}
	fmt.Fprintf(log, "report indexed in %s: show %s\n", where, r.ID)
	return nil
}

// prepareDump checks a dump, which writes a body below --dump-dir.
func prepareDump(c *session, args []string) (action, error) {
	if len(args) != 4 {
		return action{}, errors.New("write dump FILE EVENTS SPANS FRAMES")
	}
	var numbers [3]int
	for i, text := range args[1:] {
		v, err := strconv.Atoi(text)
		if err != nil || v < 0 || v > 100_000 {
			return action{}, fmt.Errorf("%q is not a number from 0 to 100000", text)
		}
		numbers[i] = v
	}
	if !filepath.IsLocal(args[0]) {
		return action{}, denied("%s: files are written below the server's folder for them only; give a name without .. and a leading /", args[0])
	}
	return action{now: func(c *session) { c.dump(args[0], numbers) }}, nil
}

// maxDump is the largest body of a dump, in bytes.
const maxDump = 256 << 20

func (c *session) dump(name string, n [3]int) {
	if n[0]*(1+n[1])*(1+n[2]) > maxDump/100 { // a frame has more than 100 bytes
		c.fail(fmt.Errorf("dump: the body would have more than %d MiB; ask for less", maxDump>>20))
		return
	}
	body, err := apm.Sample(n[0], n[1], n[2])
	if err == nil {
		err = writeBelow(c.server.options.DumpDir, name, body)
	}
	if err != nil {
		c.fail(err)
		return
	}
	c.say(fmt.Sprintf("%d bytes written to disk: %s", len(body), c.seen(filepath.Join(c.server.options.DumpDir, name))))
}

// writeBelow writes a file below a folder, and follows no link out of the folder.
func writeBelow(dir, name string, content []byte) error {
	if err := files.Check(name); err != nil { // the server is confined to this folder
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Stat(name); err == nil && !info.Mode().IsRegular() { // a pipe would wait for a reader
		return fmt.Errorf("%s is not a regular file; give another name", name)
	}
	return root.WriteFile(name, content, 0o600)
}
