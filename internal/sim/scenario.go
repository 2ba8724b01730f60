package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// unbounded is the Scenario.Room of sockets that accept any number of bytes at once.
const unbounded = math.MaxInt32

// Scenario is one run and the world around it. A fault whose field is zero is not injected; a fault
// of type float64 is its probability at each occasion.
type Scenario struct {
	// The run.
	Mode                    string
	Rate                    float64 // per second; 0: a closed loop
	Poisson                 bool
	CV                      float64 // of the gaps of random arrivals; 0: that of Poisson
	Duration, Warmup        time.Duration
	Requests                uint64
	Connections             int // 0: the pool grows
	InFlight                int
	Drop                    bool
	Loops                   int
	Pacing                  string
	MaxLag                  time.Duration
	Drain                   time.Duration
	Timeout, ConnectTimeout time.Duration
	Cancel, Abort           time.Duration // instants of the first and the second signal; 0: none

	// The clients of the asynchronous mode.
	Client  string
	Lingers bool // a client buffers operations until Pause or Flush says that nothing follows
	Busy    int  // operations that a client has room for; 0: any number
	Wakes   bool // an operation frees its room when it leaves the buffer, not when it ends

	// The connections over HTTP/2.
	Conns, Streams int // connections, and operations at once on each of them
	Upload         int // bytes of a request's body, at most; 0: there are no bodies

	Stages string // instead of Duration; Rate is then only not zero

	Lasts int // each n-th request is the last one on its connection; 0: none is

	// Answers that are streams of events.
	Parts    int           // of an answer, at most; 0: answers are no streams
	Gap      time.Duration // mean time between two parts
	Together float64       // a part that comes with the one before
	Hangs    float64       // a stream whose rest does not come
	Model    bool          // the streams are those of a language model, for takt llm
	Errors   float64       // of a model: an error within the stream
	Unended  float64       // of a model: a stream that ends without its last event

	// Calls of takt grpc, over HTTP/2. Parts are messages of an answer, Upload is of a message, and Wrong a call that ends
	// otherwise.
	GRPC     bool
	Sends    int  // messages of a call that the client streams; 0: it sends one
	Deadline bool // Timeout is the calls' deadline

	Messages int // that arrive in the receiving mode

	// Users.
	Script   script  // what they do
	PerRound bool    // Rate is one of rounds
	Wrong    float64 // an answer that a step does not accept
	H2       bool    // over HTTP/2, one request at a time on a connection

	Redirects float64 // an answer of a step that follows them
	Endless   bool    // no answer says that a job is done

	// The target.
	Service     time.Duration // mean service time; each one is 0.5 to 1.5 of it
	Workers     int           // requests that the target serves at once; 0: any number
	Body        int           // bytes of an answer's body, at most
	Freezes     []freeze
	Refuses     float64 // answers 503
	Silence     float64 // no answer
	Resets      float64 // RST instead of an answer
	Cuts        float64 // an answer that ends too early, at any byte
	Garbage     float64 // bytes that are not HTTP instead of an answer
	Drips       float64 // an answer in pieces
	Closes      float64 // FIN after an answer that does not announce it
	Stray       float64 // unasked bytes after an answer; of an asynchronous client a second completion
	SpeaksFirst float64 // unasked bytes on a new connection

	// The target over HTTP/2.
	Allows         int     // requests that it allows at once on a connection, at first; 0: any number
	Window         int     // bytes of a request's body that it allows at first; 0: 65535
	RefusedStreams float64 // REFUSED_STREAM
	StreamResets   float64 // RST_STREAM before an answer or within it
	Malformed      float64 // an answer that breaks a rule
	GoAways        float64 // GOAWAY; what came before it is answered
	EarlyGoAways   float64 // GOAWAY that gives back requests, and may leave others without an answer
	NewSettings    float64 // new SETTINGS
	Noise          float64 // PING, and frames of no use
	Odd            float64 // an answer in odd frames
	Early          float64 // an answer before the request's body has come

	// The host.
	Room       int     // bytes that a socket accepts at once
	Files      int     // open sockets, at most; 0: any number
	NoFiles    float64 // EMFILE; an asynchronous client refuses to start an operation
	LostSYN    float64
	Refused    float64
	FullPoller float64       // ENOSPC
	Interrupts float64       // a wait that ends early
	LateWakes  float64       // a wake-up that is late by up to 3 ms
	Stalls     float64       // a thread that stands still in a call
	StallMost  time.Duration // longest stall
	Pause      freeze        // in which no thread runs
	ClockSteps []clockStep   // of the wall clock
	Quota      time.Duration // CPU of the client in each quotaPeriod; 0: no limit
	Handshake  time.Duration // CPU of the client for a handshake
	Cores      int           // cores of the client; 0: one for each thread
	Halts      []freeze      // in which the client stands still

	Verbose bool // log every call of the threads to the world

	spoil func(*checker, *takt.Report) // falsifies what the oracle sees; the oracle must report a fault
}

// The values of Scenario.Mode.
const (
	modeLoop    = "loop"
	modeWorker  = "worker" // over plain TCP
	modeTLS     = "tls"    // workers over TLS
	modeLoopTLS = "loop over tls"
	modeH2      = "loop over h2"
	modeH2TLS   = "loop over h2 and tls"
	modeAsync   = "async"
	modeReceive = "receive"
	modeUsers   = "users"
)

type freeze struct{ From, To time.Duration }

type clockStep struct{ At, By time.Duration }

// generate returns the scenario of a seed. About one in four injects no fault: then nothing may fail
// and the run must be valid.
func generate(seed uint64) *Scenario {
	if r := rand.New(rand.NewPCG(seed, 0x75736572)); r.IntN(8) == 0 {
		sc := new(Scenario)
		sc.perform(r)
		return sc
	}
	if r := rand.New(rand.NewPCG(seed, 0x70617274)); r.IntN(12) == 0 {
		sc := new(Scenario)
		sc.stream(r)
		return sc
	}
	r := rand.New(rand.NewPCG(seed, 0x73696d))
	sc := &Scenario{
		Duration: between(r, 5*time.Millisecond, 300*time.Millisecond),
		Loops:    1 + r.IntN(3), InFlight: 10_000, Room: unbounded,
		Drain: 20 * time.Second, Timeout: 10 * time.Second, ConnectTimeout: 5 * time.Second,
		Service: between(r, 20*time.Microsecond, 5*time.Millisecond), Body: r.IntN(3000),
	}
	sc.Mode = []string{modeLoop, modeLoop, modeLoop, modeWorker, modeWorker, modeTLS, modeAsync, modeAsync, modeReceive, modeLoopTLS, modeLoopTLS, modeH2, modeH2, modeH2TLS}[r.IntN(14)]
	if !sc.loops() {
		sc.Loops = 0
	}
	if sc.shared() {
		defer sc.share(r)
	}
	switch r.IntN(24) {
	case 0:
		sc.trusted(r)
		return sc
	case 1:
		sc.run(r)
		sc.long(r)
	case 2:
		sc.standstill(r)
		return sc
	default:
		sc.run(r)
	}
	switch sc.Mode {
	case modeAsync:
		sc.clients(r)
	case modeReceive:
		sc.Rate, sc.Poisson, sc.Drop, sc.Connections, sc.Requests = 0, false, false, 0, uint64(r.IntN(2)*r.IntN(500))
		sc.Messages = 1 + r.IntN(1000)
	}
	if r.IntN(4) > 0 {
		for range 1 + r.IntN(4) {
			sc.inject(r)
		}
	}
	return sc
}

// loops reports whether the loop mode runs sc.
func (sc *Scenario) loops() bool { return sc.Mode == modeLoop || sc.Mode == modeLoopTLS || sc.shared() }

// shared reports whether connections carry several operations at once.
func (sc *Scenario) shared() bool { return sc.Mode == modeH2 || sc.Mode == modeH2TLS }

// overTLS reports whether connections are encrypted.
func (sc *Scenario) overTLS() bool {
	return sc.Mode == modeTLS || sc.Mode == modeLoopTLS || sc.Mode == modeH2TLS
}

// trusted makes the run long enough for the engine to trust its connections: after 4096 looks it
// checks only some of them before it sends. The target then sends unasked bytes.
func (sc *Scenario) trusted(r *rand.Rand) {
	sc.Rate, sc.Duration, sc.Loops = 20_000, between(r, 250*time.Millisecond, 400*time.Millisecond), min(1, sc.Loops)
	sc.Connections, sc.Service = 3+r.IntN(10), between(r, 40*time.Microsecond, 100*time.Microsecond)
	if sc.loops() {
		sc.Pacing = []string{"default", "precise"}[r.IntN(2)]
	}
	sc.Stray = between(r, 1e-4, 5e-4)
}

// standstill makes a run over few connections whose threads stand still. During a stall more
// operations become due than there are connections, so most of them wait for one.
func (sc *Scenario) standstill(r *rand.Rand) {
	sc.Rate, sc.Duration, sc.Loops = between(r, 2000.0, 5000), between(r, 200*time.Millisecond, 400*time.Millisecond), 1
	sc.Connections, sc.Service = 3+r.IntN(8), between(r, 20*time.Microsecond, time.Millisecond)
	sc.Stalls, sc.StallMost = between(r, 0.0001, 0.001), between(r, 10*time.Millisecond, 60*time.Millisecond)
}

// long makes the run last some seconds, because a journal records whole seconds.
func (sc *Scenario) long(r *rand.Rand) {
	if sc.Rate == 0 {
		sc.Requests = uint64(2000 + r.IntN(2000))
		sc.Service = between(r, 2*time.Millisecond, 10*time.Millisecond)
		sc.Connections = 1 + sc.Connections/6
	}
	sc.Rate = min(sc.Rate, 400)
	sc.Duration = between(r, 2*time.Second, 5*time.Second)
	if sc.Warmup > 0 {
		sc.Warmup = between(r, 0, 2*time.Second)
	}
}

// share chooses the connections over HTTP/2, and what a target may do that is not a fault.
func (sc *Scenario) share(r *rand.Rand) {
	sc.Conns = 1 + r.IntN(4)
	few := r.IntN(6) == 0
	switch r.IntN(3) {
	case 0:
		sc.Connections = sc.Conns * (1 + r.IntN(1+r.IntN(100)))
	case 1:
		if sc.Connections = cmp.Or(sc.Connections, 1+r.IntN(300)); few {
			sc.Conns, sc.Connections = 1, 100+r.IntN(300)
		}
	case 2:
		if sc.Rate > 0 {
			sc.Connections = 0
		}
	}
	sc.Streams = (cmp.Or(sc.Connections, sc.InFlight) + sc.Conns - 1) / sc.Conns // as takt http does
	if r.IntN(2) == 0 {
		sc.Allows = 1 + r.IntN(1+r.IntN(60))
	}
	if r.IntN(3) == 0 {
		sc.Upload = 1 + r.IntN(1+r.IntN(20_000))
		sc.Window = r.IntN(2) * (1 + r.IntN(5000))
		sc.Early = r.Float64() * float64(r.IntN(3)/2)
	}
	if r.IntN(3) == 0 {
		sc.Odd = r.Float64()
	}
	if r.IntN(6) == 0 {
		sc.Lasts = 1 + r.IntN(1+r.IntN(200))
	}
	if few { // operations wait for a target that allows few, and sometimes more
		sc.Loops, sc.Allows, sc.NewSettings = 1, 1+r.IntN(3), between(r, 0.001, 0.02)
	}
	if sc.Parts == 0 && r.IntN(4) == 0 {
		sc.calls(r)
	}
}

// clients chooses the clients of the asynchronous mode.
func (sc *Scenario) clients(r *rand.Rand) {
	if sc.InFlight = 1 + r.IntN(100); sc.Rate > 0 && r.IntN(2) == 0 {
		sc.InFlight = 10_000
	}
	if r.IntN(2) == 0 || sc.Connections > 10 {
		sc.Connections = 0
	}
	sc.Client = []string{"", clientBatch, clientRelay}[r.IntN(3)]
	sc.Lingers = r.IntN(3) == 0
	if r.IntN(3) == 0 && !(sc.Client == clientBatch && sc.Connections < 2) {
		sc.Busy, sc.Wakes = 1+r.IntN(20), r.IntN(2) == 0
	}
}

// run chooses the load: at most a few thousand operations.
func (sc *Scenario) run(r *rand.Rand) {
	if r.IntN(4) == 0 {
		sc.Connections, sc.Requests = 1+r.IntN(60), uint64(1+r.IntN(1000))
	} else {
		sc.Rate = math.Round(math.Exp(between(r, math.Log(50), math.Log(20_000))))
		sc.Duration = min(sc.Duration, time.Duration(2000/sc.Rate*1e9))
		sc.Poisson = r.IntN(2) == 0
		if r.IntN(3) > 0 {
			sc.Connections = 1 + r.IntN(60)
		}
		if r.IntN(4) == 0 {
			sc.Warmup = sc.Duration / 4
		}
		sc.Drop = r.IntN(3) == 0
		sc.Pacing = []string{"default", "default", "precise", "economy"}[r.IntN(4)]
		if sc.Pacing == "default" && r.IntN(4) == 0 {
			sc.MaxLag = between(r, 100*time.Microsecond, time.Millisecond)
		}
		if !sc.loops() && sc.Mode != modeAsync {
			sc.Pacing, sc.MaxLag = "", 0
		}
	}
	if r.IntN(3) == 0 {
		sc.Workers = 1 + r.IntN(20)
	}
}

// inject adds one kind of fault.
func (sc *Scenario) inject(r *rand.Rand) {
	often := math.Exp(between(r, math.Log(0.005), math.Log(0.5)))
	end := sc.Duration + sc.Warmup
	kinds := []func(){
		func() { sc.Refuses = often },
		func() { sc.Silence, sc.Timeout = min(often, 0.2), between(r, 2*time.Millisecond, 50*time.Millisecond) },
		func() { sc.Resets = often },
		func() { sc.Cuts = often },
		func() { sc.Garbage = often },
		func() { sc.Drips = often },
		func() { sc.Closes = often },
		func() { sc.Stray = often },
		func() { sc.SpeaksFirst = often },
		func() { sc.Room = 1 + r.IntN(40) },
		func() { sc.Files = 1 + r.IntN(40) },
		func() { sc.NoFiles = often },
		func() { sc.LostSYN, sc.ConnectTimeout = often, between(r, 100*time.Millisecond, 3*time.Second) },
		func() { sc.Refused = often },
		func() { sc.FullPoller = max(often, 0.3) }, // at each connection: few runs have many
		func() { sc.Interrupts = often },
		func() { sc.LateWakes = often },
		func() { sc.Stalls, sc.StallMost = often/500, between(r, time.Millisecond, 40*time.Millisecond) },
		func() {
			sc.ClockSteps = append(sc.ClockSteps, clockStep{between(r, 0, end), between(r, -time.Second, time.Second)})
		},
		func() {
			from := between(r, 0, end)
			sc.Freezes = append(sc.Freezes, freeze{from, from + between(r, time.Millisecond, 100*time.Millisecond)})
		},
		func() { sc.Cancel = between(r, 1, end) },
		func() { sc.Cancel = between(r, 1, end); sc.Abort = sc.Cancel + between(r, 1, 10*time.Millisecond) },
		func() { sc.Drain = between(r, 0, 5*time.Millisecond) },
	}
	if sc.shared() && r.IntN(2) == 0 {
		kinds = []func(){
			func() { sc.RefusedStreams = often },
			func() { sc.StreamResets = often },
			func() { sc.Malformed = often },
			func() { sc.GoAways = often },
			func() { sc.EarlyGoAways = often },
			func() { sc.NewSettings = often },
			func() { sc.Noise = often },
			func() { sc.Early = often },
		}
	}
	kinds[r.IntN(len(kinds))]()
}

func between[T time.Duration | float64](r *rand.Rand, low, high T) T {
	return low + T(r.Float64()*float64(high-low))
}

// options returns the engine's options for the run.
func (sc *Scenario) options() engine.Options {
	o := engine.Defaults()
	o.Engine = modeWorker
	if sc.loops() {
		o.Engine = modeLoop
	}
	o.Loops, o.Connections, o.MaxInFlight = sc.Loops, sc.Connections, sc.InFlight
	o.Duration, o.Warmup, o.Requests = sc.Duration, sc.Warmup, sc.Requests
	o.Drain = engine.DrainOf(sc.Drain)
	if sc.Stages != "" {
		o.Duration = 0
		if err := o.Stages.Set(sc.Stages); err != nil {
			panic(err) // a test wrote it
		}
	} else if sc.Rate > 0 {
		o.Rate = engine.PerSecond(sc.Rate)
		o.Pacing, o.MaxLag = sc.Pacing, sc.MaxLag
	}
	if sc.Poisson {
		o.Arrivals = engine.MustArrivals("poisson")
	}
	if sc.CV > 0 {
		o.Arrivals = engine.MustArrivals("gamma:" + strconv.FormatFloat(sc.CV, 'g', -1, 64))
	}
	if sc.Drop {
		o.Overflow = "drop"
	}
	return o
}

// String shows the fields that are set.
func (sc *Scenario) String() string {
	var words []string
	v := reflect.ValueOf(sc).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if f := v.Field(i); v.Type().Field(i).IsExported() && !f.IsZero() && (name != "Room" || sc.Room != unbounded) {
			words = append(words, fmt.Sprintf("%s=%v", name, f.Interface()))
		}
	}
	return strings.Join(words, " ")
}
