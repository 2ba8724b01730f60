package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/value"
)

// SeedFlags are the flags of the predecessor that accept one dash or two: its long flags, v and d.
func SeedFlags() []string {
	return strings.Fields(`tps progress start-tps duration for from rewind tail rest s3 timeBudget ro rw wo serialize strip
		host-header headers cache akamai-debug crash v d s3-bucket s3-key s3-secret config allowMissingConfig
		allowUnknownFlags configUpdateInterval dumpflags thunder`)
}

// AddFlags declares the flags on fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Reading.Window.Beside("how far out of order a log may be is --disorder")
	o.Reading.AddFlags(fs)
	o.addTimingFlags(fs)
	o.addSeedFlags(fs)
	value.Declare(fs, value.GroupSecurity, o.addS3Flags)
	o.HTTP.AddRecordedFlags(fs)
}

func (o *Options) addTimingFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupLoad, o.addPaceFlags, "speed")
	value.Declare(fs, value.GroupTarget, o.addHostFlag)
	value.Declare(fs, value.GroupOutput, o.addDryRunFlag, "dry-run")
}

func (o *Options) addPaceFlags(fs *pflag.FlagSet) {
	fs.Var(value.Plain((*speed)(&o.Speed)), "speed", "speed-up of the recorded times, `2x` for twice as fast")
	fs.Var(value.Offering(value.Plain(&o.Timing.Jitter), "uniform", "poisson", "burst"), "jitter", "spacing of requests within a second, for logs with whole seconds: `uniform|poisson|burst`")
	fs.Var(value.Duration(&o.Timing.Window), "disorder", "how far out of order the log may be, `TIME` such as 1m (default 30s)")
	fs.Var(value.Choice(&o.ShardBy, byClient, byRequest), "shard-by", "what --shard divides, `client|request`: all requests of a client go to one shard, in their order, or every n-th request")
	fs.Var(value.Plain(&o.Per), "per", "send as users: each `client|header:NAME|cookie:NAME` of the log has a connection, and waits for the answer before its next request")
	fs.BoolVar(&o.Think, "think", false, "with --per: a user's next request is due the recorded think time after the answer, not at its recorded instant")
	fs.Var(value.Duration(&o.UserIdle), "user-idle", "with --per: close the connection of a user that was idle for `TIME`")
	fs.Var(value.Plain((*maxGap)(&o.MaxGap)), "max-gap", "shorten gaps between the requests of the log to `TIME`; without it takt refuses a log with a gap above 1h")
}

func (o *Options) addHostFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&o.HTTP.Sessions.On, "session", false, "with --per: each user sends the cookies that the target's answers set, and the values of --capture")
	fs.Var(&o.HTTP.Sessions.Captures, "capture", "with --session: a value from answers, `NAME SOURCE`, for {{NAME}} in -H; SOURCE is json PATH, header NAME, cookie NAME, regexp EXPRESSION or body; repeatable")
	fs.BoolVar(&o.KeepHost, "keep-host", false, "send the recorded Host where the log has one")
}

func (o *Options) addDryRunFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&o.DryRun, "dry-run", false, "send nothing: show the first ten requests and the plan of the whole run")
}

func (o *Options) addSeedFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupLoad, o.addRateFlags)
	value.Declare(fs, value.GroupSelection, o.addKindFlags)
	value.AddFormer(fs, value.GroupTarget, value.Former{Of: "Play-it-Again-Sam", Name: "host-header", Flag: "host", Usage: "Host `HEADER`, as --host"})
	value.Declare(fs, value.GroupTarget, o.addSeedHeaderFlags)
	value.Declare(fs, value.GroupOutput, o.addShowFlags)
	value.Declare(fs, value.GroupAssertions, o.addCrashFlag)
	value.Declare(fs, value.GroupGeneral, o.addConfigFlags)
}

func (o *Options) addRateFlags(fs *pflag.FlagSet) {
	s := &o.Seed
	fs.Float64Var(&s.TPS, "tps", 0, "requests per second, `N`; with --progress N the highest rate of a ramp; rows of the load format go to stdout, the report to stderr")
	fs.Float64Var(&s.StartTPS, "start-tps", 0, "first rate of the ramp, `N` (default: the height of a step)")
	fs.BoolVar(&s.Rewind, "rewind", false, "start the log again at its end")
	fs.BoolVar(&s.Tail, "tail", false, "follow the log: replay what is written to it from now on")
	fs.BoolVar(&s.Serialize, "serialize", false, "one request at a time: -c 1")
	fs.BoolVar(&s.Thunder, "thunder", false, "all requests of a second are due at its beginning")
	fs.BoolVar(&s.TimeBudget, "timeBudget", false, "send nothing: a GET or HEAD takes 0.1 s, everything else 1 s; what is above that is takt's own time")
}

func (o *Options) addKindFlags(fs *pflag.FlagSet) {
	s := &o.Seed
	fs.BoolVar(&s.RO, "ro", false, "send GET and HEAD only, which is the default")
	fs.Var(value.Size(&s.RW), "rw", "send POST and PUT, too; a body that is not in the log becomes random bytes of the recorded size, at most `BYTES`")
	fs.Var(value.Size(&s.WO), "wo", "send PUT only; a body that is not in the log becomes random bytes of the recorded size, at most `BYTES`")
}

func (o *Options) addSeedHeaderFlags(fs *pflag.FlagSet) {
	s := &o.Seed
	fs.Var(value.Text(&s.Headers), "headers", "headers, `K:V K2:V2`; for values with blanks use --header")
	fs.BoolVar(&s.Cache, "cache", false, "do not send Cache-Control: no-cache")
	fs.BoolVar(&s.Akamai, "akamai-debug", false, "send Akamai's debug header Pragma")
	fs.Bool("rest", false, "accepted and ignored: without --s3 and --timeBudget the protocol is HTTP anyway")
}

func (o *Options) addShowFlags(fs *pflag.FlagSet) {
	s := &o.Seed
	fs.BoolVarP(&s.Verbose, "verbose", "v", false, "show every request with its answer on stderr")
	fs.BoolVarP(&s.Debug, "debug", "d", false, "show a line for every request on stderr: when it was due, sent and done")
}

func (o *Options) addCrashFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Seed.Crash, "crash", false, "end the run at the first bad reply, with exit code 3")
}

func (o *Options) addConfigFlags(fs *pflag.FlagSet) {
	fs.Bool("allowMissingConfig", false, "ignore a --config file that does not exist")
	fs.Bool("allowUnknownFlags", false, "ignore unknown settings in --config")
	fs.Bool("dumpflags", false, "print all settings as a config file and end")
	fs.Var(value.Text(new(string)), "configUpdateInterval", "accepted and ignored, `TIME`: settings do not change during a run")
}

func (o *Options) addS3Flags(fs *pflag.FlagSet) {
	s := &o.Seed
	fs.BoolVar(&s.S3, "s3", false, "sign GET, HEAD and PUT for S3, path-style, with --s3-bucket, --s3-key and --s3-secret")
	fs.Var(value.Text(&s.Bucket), "s3-bucket", "`NAME` of the bucket")
	fs.Var(value.Text(&s.Key), "s3-key", "access `KEY`")
	fs.Var(value.Secret(&s.Secret), "s3-secret", "`SECRET` of the key; better set TAKT_S3_SECRET")
	fs.Var(value.Text(&s.Region), "s3-region", "`REGION` in the signature")
}

// checkS3 reports what is missing for a signature.
func (o *Options) checkS3(faults *value.Faults) {
	s := &o.Seed
	for _, f := range []struct{ name, text string }{{"bucket", s.Bucket}, {"key", s.Key}, {"secret", string(s.Secret)}} {
		faults.If(s.S3 && f.text == "", "--s3 is given without --s3-%s; a signature needs it", f.name)
	}
}

// speed is the flag --speed: 2x or 2.
type speed float64

// String implements flag.Value.
func (v *speed) String() string { return strconv.FormatFloat(float64(*v), 'f', -1, 64) + "x" }

// Set implements flag.Value.
func (v *speed) Set(text string) error {
	f, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || !(f >= 1e-6 && f <= 1e6) {
		return fmt.Errorf("%.60q is not a speed from 0.000001x to 1000000x; write 2x for twice as fast, 0.5x for half as fast", text)
	}
	*v = speed(f)
	return nil
}

// takeHeaders adds the headers that the predecessor's flags put into every request.
func (o *Options) takeHeaders() error {
	s := &o.Seed
	for pair := range strings.FieldsSeq(s.Headers) {
		name, text, ok := strings.Cut(pair, ":")
		if !ok || name == "" {
			return value.Faultf("--headers has a word without a colon; write K:V K2:V2, or --header 'K: V' for each")
		}
		o.HTTP.Header = append(o.HTTP.Header, http1.Field{Name: name, Value: text})
	}
	s.Headers = ""
	if !s.Cache && !o.HTTP.Header.Has("Cache-Control") {
		o.HTTP.Header = append(o.HTTP.Header, http1.Field{Name: "Cache-Control", Value: "no-cache"})
	}
	if s.Akamai && !o.HTTP.Header.Has("Pragma") {
		o.HTTP.Header = append(o.HTTP.Header, http1.Field{Name: "Pragma", Value: akamaiDebug})
	}
	return nil
}

// akamaiDebug asks Akamai's servers for their seven debug headers.
const akamaiDebug = "akamai-x-cache-on, akamai-x-cache-remote-on, akamai-x-check-cacheable, akamai-x-get-cache-key, " +
	"akamai-x-get-extracted-values, akamai-x-get-ssl-client-session-id, akamai-x-get-true-cache-key"
