package target

import (
	"errors"
	"math/rand/v2"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/value"
)

// Bounds of the options. 64 MiB of body are held in memory once.
const (
	maxServers = 1 << 20
	maxSize    = 64 << 20
)

// What the flags are when they are not given, and empty fields of Options too.
const (
	defaultAddr   = "127.0.0.1:8080"
	defaultSize   = 100 // bytes
	defaultStatus = 200
)

// Options are the settings of a Server, in the words of the flags. Fields left
// empty are the flags' defaults, except Seed, whose default as a flag is 1.
type Options struct {
	Addr         string  // HOST:PORT to listen on; port 0: any free one
	Service      string  // service time: 1ms, uniform(1ms,5ms), exp(2ms), lognormal(2ms,0.5)
	Slow         string  // SHARE/TIME: a share of the requests has this service time instead
	SlowStart    string  // DURATION/PERIOD: the first service is longer by DURATION, later ones less and less until PERIOD
	Seed         uint64  // of the service times and of the failures
	Servers      int     // requests served at once; 0: all
	Freeze       string  // DURATION/PERIOD, see Freeze
	Size         *int    // bytes of the body; nil: 100
	Status       int     // of a good answer, 200 to 599
	ErrorRate    float64 // share of requests answered with status 500, 0 to 1
	ResetRate    float64 // share of requests whose connection (HTTP/2: stream) is reset instead of an answer
	HalfOpenRate float64 // share of requests never answered, the connection (HTTP/2: stream) stays open
	CloseRate    float64 // share of requests whose connection is closed without an answer; HTTP/1.1 only
	TLS          bool    // https, with a certificate that is made at the start
	H2           bool    // HTTP/2 besides HTTP/1.1
	H2Requests   int     // requests on a connection of HTTP/2 before GOAWAY; 0: any number
	H2Streams    int     // streams at once on a connection of HTTP/2; 0: 128
	SSE          string  // time between the tokens of streams, as Service; "": no streams
	SSETokens    int     // of an answer whose request says nothing; 0: 50
	SSEPrompt    string  // service for each token of the prompt
	SSEBatch     string  // time between tokens for each other stream
	SSEStall     string  // SHARE/TIME: a share of the streams stalls once
	SSELimit     int     // streams at once, with those that wait; 0: any number
	GRPC         bool    // gRPC calls over HTTP/2
	GRPCStream   string  // time between the messages of streams, as Service; "": only takt.Target has streams
	GRPCMessages int     // of a stream; 0: 10
	GRPCSize     int     // bytes of each message of an answer; 0: an echo
	Truth        string  // file that the Truth is written to at the end; "": none
	Null         bool    // the null server, which takes no time and keeps no record
}

// AddFlags hangs the options on fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Addr = defaultAddr
	o.Service = "0"
	o.Size = new(defaultSize)
	value.Declare(fs, value.GroupConnections, o.addListenFlag, "addr", "tls", "h2")
	value.Declare(fs, value.GroupBehaviour, o.addBehaviourFlags, "service", "servers", "freeze", "size", "error-rate", "reset-rate", "null", "sse", "grpc")
	value.Declare(fs, value.GroupOutput, o.addTruthFlag, "truth")
}

func (o *Options) addListenFlag(fs *pflag.FlagSet) {
	fs.Var(value.Listen(&o.Addr), "addr", "`HOST:PORT` to listen on; port 0: any free one")
	fs.BoolVar(&o.TLS, "tls", false, "serve https, with a certificate that is made at the start: clients need --insecure")
	fs.BoolVar(&o.H2, "h2", false, "serve HTTP/2, too: to clients that begin with it, and with --tls to those that choose it")
	fs.IntVar(&o.H2Requests, "h2-requests", 0, "`requests` on each connection of HTTP/2 before the server ends it with GOAWAY; 0: any number")
	fs.IntVar(&o.H2Streams, "h2-streams", defaultStreams, "`streams` at once on each connection of HTTP/2; the server refuses others")
}

func (o *Options) addBehaviourFlags(fs *pflag.FlagSet) {
	fs.Var(value.Text(&o.Service), "service", "service `time` of a request: 1ms, uniform(1ms,5ms), exp(2ms) by mean, lognormal(2ms,0.5) by median and sigma, or 0")
	fs.Var(value.Text(&o.Slow), "slow", "another service time for a share of the requests: `SHARE/TIME` such as 2%/80ms")
	fs.Var(value.Text(&o.SlowStart), "slow-start", "longer service at first, less and less until PERIOD: `DURATION/PERIOD` such as 200ms/2s")
	fs.IntVar(&o.Servers, "servers", 0, "requests served at once, the others wait in order; 0: all at once")
	fs.Var(value.Text(&o.Freeze), "freeze", "freeze for the last DURATION of every PERIOD since the first request: `DURATION/PERIOD` such as 1s/10s")
	fs.Var(value.Size(o.Size), "size", "`bytes` of the response body, also 1KiB")
	fs.IntVar(&o.Status, "status", defaultStatus, "status of a good answer")
	fs.Var(value.Share(&o.ErrorRate), "error-rate", "`share` of requests answered with status 500, such as 1%")
	fs.Var(value.Share(&o.ResetRate), "reset-rate", "`share` of requests whose connection (HTTP/2: stream) is reset, such as 0.1%")
	fs.Var(value.Share(&o.HalfOpenRate), "half-open-rate", "`share` of requests never answered while the connection (HTTP/2: stream) stays open")
	fs.Var(value.Share(&o.CloseRate), "close-rate", "`share` of requests whose connection is closed without an answer (HTTP/1.1 only)")
	fs.BoolVar(&o.Null, "null", false, "answer every request at once and as cheaply as possible, for calibration and benchmarks (Linux)")
	o.addStreamFlags(fs)
	o.addCallFlags(fs)
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of service times and failures")
}

func (o *Options) addTruthFlag(fs *pflag.FlagSet) {
	fs.Var(value.OutFile(&o.Truth), "truth", "`file` for what the server really did, as JSON at the end")
}

// Validate reports every fault of the options at once.
func (o Options) Validate() []error {
	_, faults := o.settings()
	return faults
}

// settings are the options understood.
type settings struct {
	addr     string
	services services
	freeze   Freeze
	fates    fates
	answers  answers
	h2       h2Answers
	speaksH2 bool
	streams  int
	requests int
	sse      sse
	calls    calls
	null     []byte // what the null server answers
}

// settings reads the options; the faults are all there are.
func (o Options) settings() (s settings, faults []error) {
	note := func(flag string, err error) {
		if err != nil {
			faults = append(faults, value.Faultf("--%s: %w", flag, err))
		}
	}
	var err error
	s.addr, err = parseAddr(o.Addr)
	note("addr", err)
	s.services.draw, err = dist.Parse(o.Service)
	note("service", err)
	s.services.slow, err = parseSlow(o.Slow)
	note("slow", err)
	s.services.slowStart, err = parseDecline(o.SlowStart)
	note("slow-start", err)
	note("servers", checkServers(o.Servers))
	s.freeze, err = parseFreeze(o.Freeze)
	note("freeze", err)
	size := defaultSize
	if o.Size != nil {
		size = *o.Size
	}
	note("size", checkSize(size))
	status, err := parseStatus(o.Status)
	note("status", err)
	s.fates.errors, s.fates.resets, s.fates.halfOpens, s.fates.closes = o.ErrorRate, o.ResetRate, o.HalfOpenRate, o.CloseRate
	note("error-rate", checkShare(o.ErrorRate))
	note("reset-rate", checkShare(o.ResetRate))
	note("half-open-rate", checkShare(o.HalfOpenRate))
	o.H2 = o.H2 || o.GRPC
	note("close-rate", checkCloses(o.CloseRate, o.H2))
	note("error-rate", s.fates.check())
	note("h2-streams", checkStreams(o.H2Streams, o.H2))
	note("h2-requests", checkRequests(o.H2Requests, o.H2))
	s.speaksH2, s.streams, s.requests = o.H2, o.H2Streams, o.H2Requests
	s.sse = o.stream(note)
	s.calls = o.calls(note, &s.sse)
	faults = append(faults, o.nullFaults(s)...)
	if len(faults) > 0 {
		return s, faults
	}
	// Streams of one seed: the service times stay the same whatever fails.
	s.services.rand, s.services.slowRand = rand.New(rand.NewPCG(o.Seed, 1)), rand.New(rand.NewPCG(o.Seed, 3))
	s.fates.rand = rand.New(rand.NewPCG(o.Seed, 2))
	if o.H2 {
		s.h2 = renderH2(status, size)
	}
	s.answers, s.null = renderAnswers(status, size), nullAnswer(size)
	return s, nil
}

// checkCloses: over HTTP/2 a closed connection would end other requests, too.
func checkCloses(share float64, h2 bool) error {
	if share > 0 && h2 {
		return errors.New("over HTTP/2 it would end other requests, too; use --reset-rate, or leave out --h2")
	}
	return checkShare(share)
}
