// Package replay is the driver of takt replay: one operation is one request of a log, sent by
// package http. It decides what is sent and when, compares the answers with the recorded ones,
// and makes rows of the load format.
package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/play"
	"github.com/taktload/takt/internal/trace/reader"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// Options are the flags of takt replay beyond those of every load command.
type Options struct {
	Reading  reader.Settings
	Timing   trace.Timing
	Speed    float64       // divides the recorded times
	MaxGap   time.Duration // longest gap between requests; 0: a gap above usualGap is an error
	ShardBy  string        // what --shard divides: client or request
	KeepHost bool          // send the recorded Host
	Per      per           // what a user is; zero: requests have no users
	Think    bool          // a user's next request waits for the recorded think time after the answer
	UserIdle time.Duration // idle users lose their connections after this time
	DryRun   bool
	HTTP     *http.Options
	Seed     Seed
	Stdin    io.Reader

	logs      []string
	engine    *engine.Options // as the last Shape left it
	faults    []error         // found by the last Shape
	stages    []schedule.Stage
	made      string // rate or stages that Shape set from the seed's flags
	shard     uint64 // of this machine, from 0
	shards    uint64 // number of machines, at least 1
	random    *payload.Random
	answers   answers
	onlook    onlooker
	foundGaps play.Gaps           // gaps that surveyGaps found in the logs
	run       atomic.Pointer[run] // the last run; atomic, because a connection that hangs may outlast its run
}

// Seed are the flags that come from the predecessor, see docs/coming-from.md.
type Seed struct {
	TPS, StartTPS float64
	Step          float64 // --progress N
	Rewind, Tail  bool
	RO            bool
	RW, WO        int64 // bytes
	Serialize     bool
	Thunder       bool
	Headers       string
	Cache, Akamai bool
	Crash         bool
	Verbose       bool
	Debug         bool
	TimeBudget    bool
	S3            bool
	Bucket, Key   string
	Secret        takt.Secret
	Region        string
}

// New returns the options with their defaults.
func New() *Options {
	o := &Options{HTTP: http.New(), Speed: 1, ShardBy: byClient, UserIdle: usualIdle, Seed: Seed{Region: "us-east-1"}}
	o.HTTP.ContentType, o.HTTP.Recording = randomType, &o.answers
	o.answers.o = o
	return o
}

// randomType is the Content-Type of a body whose type the log does not have.
const randomType = "application/octet-stream"

// Validate reports every fault at once.
func (o *Options) Validate(args []string) []error {
	faults := value.Faults(slices.Clone(o.faults))
	faults.Add(o.Reading.Validate()...)
	o.checkPairs(&faults)
	o.checkS3(&faults)
	faults.Add(o.takeHeaders())
	faults.Add(o.checkArguments(args)...)
	if len(faults) == 0 {
		o.checkUsers(&faults)
	}
	faults.If(o.Seed.Tail && (len(o.logs) > 1 || slices.Contains(o.logs, "-")), "--tail follows one file; standard input needs no --tail, it is read as it comes")
	o.random = payload.NewRandom(o.engine.Seed)
	return faults
}

// checkArguments checks and stores the logs and the URL.
func (o *Options) checkArguments(args []string) (faults []error) {
	switch {
	case len(args) == 0:
		return []error{errors.New("neither a log nor a URL is given; write takt replay access.log http://127.0.0.1:8080/")}
	case strings.Contains(args[0], "://"):
		return []error{fmt.Errorf("the first argument, %q, is a URL, and must be a log; the URL comes last: takt replay access.log http://127.0.0.1:8080/", args[0])}
	case len(args) == 1:
		return []error{fmt.Errorf("there is one argument, %q; write a log and then the URL: takt replay access.log http://127.0.0.1:8080/", args[0])}
	}
	o.logs = args[:len(args)-1]
	url := args[len(args)-1]
	if strings.Contains(url, "?") {
		faults = append(faults, fmt.Errorf("url %q has a query; the log has those of the requests, so leave it out", url))
	}
	faults = append(faults, o.HTTP.Validate([]string{url})...)
	for _, name := range o.logs {
		if name == "-" {
			continue
		}
		if info, err := files.Stat(name); err != nil {
			faults = append(faults, fmt.Errorf("cannot read the log: %w; the arguments are the logs and then the URL", err))
		} else if info.IsDir() {
			faults = append(faults, fmt.Errorf("the log %s is a folder; name the files in it", name))
		}
	}
	return faults
}

// checkPairs refuses flags that contradict other flags.
func (o *Options) checkPairs(faults *value.Faults) {
	s := &o.Seed
	recorded := o.engine.Recorded
	faults.If(s.Rewind && recorded, "--rewind needs a rate: with the recorded times a second pass would be due in the past; add --tps or --rate")
	faults.If(s.Rewind && s.Tail, "both --rewind and --tail are given; keep one, a log that is followed has no end")
	faults.If(s.Rewind && slices.Contains(o.logs, "-"), "--rewind cannot begin standard input again; give a file")
	faults.If(o.Speed != 1 && !recorded, "both --speed and a rate are given; keep one, a rate takes no times from the log")
	faults.If(o.MaxGap > 0 && !recorded, "both --max-gap and a rate are given; keep one, a rate takes no times from the log")
	faults.If(o.MaxGap > 0 && s.Tail, "both --max-gap and --tail are given; a log that is followed sets the pace")
	faults.If(o.Speed != 1 && s.Tail, "both --speed and --tail are given; a log that is followed sets the pace")
	faults.If(s.RO && (s.RW > 0 || s.WO > 0) || s.RW > 0 && s.WO > 0, "more than one of --ro, --rw and --wo is given; keep one")
	faults.If(o.Reading.Rules.Methods != nil && (s.RO || s.RW > 0 || s.WO > 0), "both --methods and one of --ro, --rw and --wo are given; keep one")
	faults.If(s.TimeBudget && s.S3, "both --timeBudget and --s3 are given; keep one, --timeBudget sends nothing")
	faults.If(s.Tail && o.DryRun, "both --tail and --dry-run are given; keep one, lines that are not written yet cannot be shown")
	for _, f := range o.HTTP.Header {
		faults.If(strings.Contains(f.Value, "{{") && !o.HTTP.Sessions.On, "header %s has a placeholder, which takt replay fills in only with --session; write the value itself, or give --session and --capture", f.Name)
	}
}

// reading is Reading with the predecessor's --rw and --wo.
func (o *Options) reading() reader.Settings {
	g := o.Reading
	g.Options.NoTimes = !o.engine.Recorded || o.Seed.Tail
	switch s := &o.Seed; {
	case s.RW > 0:
		g.Rules.Methods = []string{"GET", "HEAD", "POST", "PUT"}
	case s.WO > 0:
		g.Rules.Methods = []string{"PUT"}
	}
	return g
}

// mostBody limits a random body: the value of --rw or --wo, at most maxBody.
func (o *Options) mostBody() int64 {
	if n := max(o.Seed.RW, o.Seed.WO); n > 0 {
		return min(n, maxBody)
	}
	return maxBody
}

// longestBody limits the recorded size of a body. With --rw or --wo there is no limit, because takt
// sends a shorter body then.
func (o *Options) longestBody() int64 {
	if o.Seed.RW > 0 || o.Seed.WO > 0 {
		return math.MaxInt64
	}
	return maxBody
}

// maxBody limits a body, in bytes. Each connection has one in memory.
const maxBody = 64 << 20

// Secrets implements takt.Secretive.
func (o *Options) Secrets() []string { return o.HTTP.Secrets() }

// StdinReaders is driver.Load.Stdin.
func (o *Options) StdinReaders() (before, during []string) {
	if slices.Contains(o.logs, "-") {
		during = append(during, "the log -")
	}
	return before, during
}

// Variables are the settings that shape the load or the target.
func (o *Options) Variables() map[string]any {
	v := o.HTTP.Variables()
	v["log"] = strings.Join(o.logs, " ")
	set := func(name string, is bool, value any) {
		if is {
			v[name] = value
		}
	}
	g, s := &o.Reading, &o.Seed
	if o.engine.Recorded {
		v["speed"], v["jitter"] = o.Speed, o.Timing.Jitter.String()
		set("max_gap_s", o.MaxGap > 0, o.MaxGap.Seconds())
		set("disorder_s", o.Timing.Window != 0, o.Timing.Window.Seconds())
	}
	set("format", g.Options.Format != "", g.Options.Format)
	set("window", g.Window.Given(), g.Window.String())
	set("from", g.From > 0, g.From)
	set("for", g.For > 0, g.For)
	set("methods", o.reading().Rules.Methods != nil, strings.Join(o.reading().Rules.Methods, ","))
	set("statuses", g.Rules.Statuses != nil, g.Rules.Statuses.String())
	set("sample", g.Rules.Share > 0, g.Rules.Share)
	set("strip", g.Rewriting.Strip != "", g.Rewriting.Strip)
	set("rewritings", len(g.Rewriting.Changes) > 0, len(g.Rewriting.Changes))
	set("keep_tokens", g.Rewriting.KeepTokens, true)
	set("per", o.Per.given(), o.Per.String())
	set("think", o.Think, true)
	set("session", o.HTTP.Sessions.On, true)
	set("captures", len(o.HTTP.Sessions.Captures) > 0, o.HTTP.Sessions.Captures.String())
	set("keep_host", o.KeepHost, true)
	set("shard_by", o.ShardBy != byClient, o.ShardBy) // all shards must agree, and merge compares variables
	set("step_per_s", s.Step > 0, s.Step)
	set("rewind", s.Rewind, true)
	set("tail", s.Tail, true)
	set("thunder", s.Thunder, true)
	set("s3", s.S3, true)
	set("protocol", s.TimeBudget, "timeBudget")
	if re := g.Rules.Path; re != nil {
		v["path_matches"] = re.String()
	}
	if re := g.Rules.NotPath; re != nil {
		v["path_matches_not"] = re.String()
	}
	return v
}

// timing says how due instants are computed from timestamps.
func (o *Options) timing() trace.Timing {
	t := o.Timing
	t.Seed = o.engine.Seed
	return t
}

// zone is the time zone of timestamps, read and written.
func (o *Options) zone() *time.Location {
	return cmp.Or(o.Reading.Options.Zone, time.Local)
}
