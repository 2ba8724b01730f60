// Package driver is the table of protocols.
package driver

import (
	"context"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver/apm"
	"github.com/taktload/takt/internal/driver/grpc"
	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/driver/jms"
	"github.com/taktload/takt/internal/driver/kafka"
	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/consume"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/driver/llm"
	"github.com/taktload/takt/internal/driver/replay"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/exchange"
	"github.com/taktload/takt/internal/judge/answers"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// Options are the flags of one protocol and what they lead to. Rows satisfy it
// structurally.
type Options interface {
	AddFlags(fs *pflag.FlagSet)
	Shape(o *engine.Options)        // fills in what the user left open; before Validate
	Validate(args []string) []error // reports every fault at once
	Variables() map[string]any      // for Report.Variables, after Validate
	Open(ctx context.Context, conns int) (*takt.Driver, error)
}

// Load is what a protocol offers for one load: its options, and what only some protocols
// have. A nil member is not offered.
type Load struct {
	Options

	// Predecessor is how another program shows the run.
	Predecessor Predecessor
	// Latencies names, after Validate, what the load may measure besides the latencies of every run; nil: not known.
	Latencies func() []string
	// Learn is called before each run, and before its outputs are opened, whose columns are those of Timed: it asks the target
	// for what Validate cannot know. nil: Validate knows all.
	Learn func(ctx context.Context) error
	// Timed are, after Validate, further latencies, as in takt.Driver, or those that there may be before Learn; nil: there are
	// none.
	Timed func() []takt.Timed
	// Goal are, after Validate, the conditions of each operation, as in takt.Driver; nil: there are none.
	Goal func() string
	// Defaults sets other defaults of the engine.
	Defaults func(o *engine.Options)
	// Identify is called with the id of each run, before Open.
	Identify func(run string)
	// Attend is called before Validate, which may read long files: the end of stop ends it with
	// an error, and tell gets what it does after a while.
	Attend func(stop <-chan struct{}, tell func(text string))
	// Unused names flags of all load commands that the protocol has no use for, and says why
	// they are refused; "": they are not. Help does not list these flags.
	Unused func() (flags []string, why string)
	// Stdin names the flags that read standard input, which can be read once: before all runs,
	// and in each of them.
	Stdin func() (before, during []string)
	// NoAnswer says why the run has no response time, and what it has instead; "": the run has
	// response times.
	NoAnswer func() (why, instead string)
	// Plans reports, after Validate, whether Plan is to show what a run would do, in place of
	// the run.
	Plans func() bool
	Plan  func(ctx context.Context, w io.Writer, src takt.Source) error

	// Ends reports, after Validate, whether the run ends by itself also without a duration and a
	// number of operations.
	Ends func() bool

	// Later is, after Validate, how long after the end of the schedule operations may be due.
	Later func() time.Duration

	// Reacts reports, after Validate, whether answers decide how many operations there are; nil: they do not.
	Reacts func() bool

	// Steps are, after Validate, the names of the steps of each round; nil: there are none.
	Steps func() []string

	// Run makes the run of a plan in another process, instead of engine.Run with a driver: Open is
	// then not called, and the source of the plan not used.
	Run func(ctx context.Context, p engine.Plan, stderr io.Writer) (*takt.Report, error)

	// Source gives the operations of src their Data, which come from a list, or returns src as
	// it is. It may wait for the first of the list until ctx ends.
	Source func(ctx context.Context, src takt.Source) (takt.Source, error)
	// Look is called before Source. Its result is called as engine.OnSamples is, and returns
	// the records that the format load writes, which are valid until its next call. show is
	// for what people are to see; crash ends the run with its report and exit code 3.
	Look func(show func(text string), crash func(reason error)) func(phases []string, list []takt.Sample) []trace.Record
	// Contrasts is how long Contrast takes; 0: it was not asked for.
	Contrasts func() time.Duration
	// Contrast shows after the run what another way of measuring makes of the same load. It
	// puts what it found into r.Extra["contrast"].
	Contrast func(ctx context.Context, r *takt.Report) error

	// Asker opens, after Validate, what sends single operations and keeps their answers.
	Asker func() (Asker, error)

	// Debug is what --debug needs; nil: the protocol has no such flag.
	Debug *Debug
}

// Debug lets a load send each of its requests once and show it.
type Debug struct {
	// Single, called before Shape, leaves out what says when requests are due; nil: nothing does.
	Single func()
	// Watch makes, after Validate and Learn, the tap of the run. seen gets each exchange. most is how many operations send
	// each request once.
	Watch func(seen func(*exchange.Exchange)) (tap engine.Tap, most uint64, err error)
}

// Asker sends the requests of operations, one after the other and outside of any run.
type Asker interface {
	Ask(ctx context.Context, op *takt.Op) answers.Answer
	Close() error
}

// Predecessor is how a program that the command replaces shows a run. A nil member is not offered.
type Predecessor struct {
	Name   string // of its words, as a value of --progress; the default when a Legacy flag was used
	Always bool   // … and without one
	// Watch is called before Open, and returns what follows the run. It tells of the run on words, in place
	// of the line a second; nil: nobody wants words.
	Watch func(words io.Writer) live.Watcher
	// Step accepts the text of --progress as the height of a step; false: the text is something
	// else. It is called before Shape.
	Step func(text string) bool
	// Rows reports whether the records of Look go to standard output and the report to standard error.
	Rows func() bool
}

// Row is one protocol: a subcommand.
type Row struct {
	Group, GroupShort   string // the command that this is a subcommand of; "": takt itself
	Use, Short, Example string // as cobra shows them
	Kind                string // Report.Kind
	OtherTools          []OtherToolsFlag
	Legacy              []string          // long flags that may have one dash, as a predecessor wrote them
	Aliases             map[string]string // other names of flags, which help does not show
	New                 func(stdin io.Reader) Load
}

// Table lists the protocols.
func Table() []Row {
	return []Row{
		{
			Use:        "http [flags] URL",
			Short:      "load an HTTP server at a rate, or in a closed loop",
			Kind:       "http",
			OtherTools: otherToolsHTTP(),
			Legacy: []string{ // hey's
				"host", "cpus", "h2", "disable-compression", "disable-keepalive", "disable-redirects",
			},
			Example: `  takt http --rate 1000/s --duration 30s http://127.0.0.1:8080/
  takt http --rate 100/s..2k/s -z 1m --assert 'p99<250ms' http://127.0.0.1:8080/
  takt http -n 200 -c 50 http://127.0.0.1:8080/            # hey's closed loop`,
			New: func(stdin io.Reader) Load {
				o := http.New()
				o.Stdin = stdin
				return Load{Options: o, Latencies: netPhases, Timed: o.Timed, Stdin: o.StdinReaders, Source: o.Source, Contrasts: o.Contrasts, Contrast: o.Contrast, Identify: o.Identify, Attend: o.Attend, Later: o.Later, Steps: o.Steps, Reacts: o.Reacts,
					Asker: func() (Asker, error) { return o.Asker() }, Debug: &Debug{o.Single, o.Watch}}
			},
		},
		{
			Use:   "replay [flags] LOG… URL",
			Short: "send the requests of a log again, at their recorded times or at a rate",
			Kind:  "replay",
			Example: `  takt replay access.log http://127.0.0.1:8080/
  takt replay --speed 10x --sample 10% access.log.1.gz access.log http://127.0.0.1:8080/
  takt replay --tps 400 --progress 10 --duration 10 load.csv http://127.0.0.1:8080 > raw.csv`,
			Legacy: replay.SeedFlags(),
			New: func(stdin io.Reader) Load {
				o := replay.New()
				o.Stdin = stdin
				return Load{
					Options: o, Latencies: netPhases, Stdin: o.StdinReaders, Plans: o.Plans, Plan: o.Plan,
					Source: o.Source, Look: o.Look, Ends: o.Ends, Asker: func() (Asker, error) { return o.HTTP.Asker() },
					Predecessor: Predecessor{Step: o.SetStep, Rows: o.ShowsRows},
				}
			},
		},
		{
			Group: "kafka", GroupShort: "Kafka: produce, consume, or both in one",
			Use:   "produce [flags]",
			Short: "write records to a topic at a rate, or in sangrenel's closed loop",
			Kind:  "kafka",
			Example: `  takt kafka produce --rate 20k/s --duration 30s --message-batch-size 500 --topic orders
  takt kafka produce --required-acks all --transactions 1000 -n 100000 --create-topic
  takt kafka produce -message-size=800 -message-batch-size=500      # as sangrenel`,
			Legacy:     produce.SeedFlags(),
			Aliases:    cluster.PropertiesAliases(),
			OtherTools: otherToolsKafka(),
			New: func(io.Reader) Load {
				o := produce.New()
				return Load{
					Options: o, Latencies: cluster.Phases, Defaults: o.Defaults, Unused: o.Unused, NoAnswer: o.NoAnswer, Source: o.Source, Ends: o.Ends,
					Predecessor: Predecessor{Name: "sangrenel", Watch: o.Watch},
				}
			},
		},
		{
			Group:      "kafka",
			Use:        "consume [flags]",
			Short:      "read records from a topic, and count what is lost, doubled or out of order",
			Kind:       "kafka",
			Aliases:    cluster.PropertiesAliases(),
			OtherTools: otherToolsKafka(),
			Example: `  takt kafka consume --topic orders --duration 30s
  takt kafka consume --topic orders --group billing --from latest -n 100000`,
			New: func(io.Reader) Load {
				o := consume.New()
				return Load{Options: o, Latencies: cluster.Phases, Unused: o.Unused, NoAnswer: o.NoAnswer, Ends: func() bool { return o.Exit }}
			},
		},
		{
			Group:      "kafka",
			Use:        "e2e [flags]",
			Short:      "write and read records in one process: the time from due to received",
			Kind:       "kafka",
			Aliases:    cluster.PropertiesAliases(),
			OtherTools: otherToolsKafka(),
			Example:    `  takt kafka e2e --rate 1000/s --duration 30s --required-acks all --topic orders`,
			New: func(io.Reader) Load {
				o := kafka.NewE2E()
				return Load{Options: o, Latencies: cluster.Phases, Defaults: o.Defaults, Unused: o.Unused, NoAnswer: o.NoAnswer, Source: o.Source, Ends: o.Ends}
			},
		},
		{
			Use:   "apm [flags] [URL...]",
			Short: "load apm-server with events, as hey-apm did",
			Kind:  "apm",
			Example: `  takt apm --rate 100/s --duration 30s --secret-file token http://127.0.0.1:8200
  takt apm --events 10 --spans 10 --frames 10 -c 20 --duration 30s http://127.0.0.1:8200
  takt apm -profile heavy -run 30s -base-url http://127.0.0.1:8200      # as hey-apm`,
			Legacy: apm.SeedFlags(),
			New: func(io.Reader) Load {
				o := apm.New()
				return Load{Options: o, Latencies: apm.Latencies, Plans: o.Plans, Plan: o.Plan}
			},
		},
		{
			Use:   "llm [flags] URL",
			Short: "load a server of language models: time to the first token, gaps, goodput",
			Kind:  "llm",
			Example: `  takt llm --rate 5/s --duration 1m --model llama --prompts prompts.txt http://127.0.0.1:8000/v1/chat/completions
  takt llm -c 8 -n 100 --slo 'ttft<300ms,maxgap<1s,tpot<50ms' http://127.0.0.1:8000/v1/chat/completions
  takt llm --rate 2/s --model llama3 --prompt-tokens 500 --max-tokens 200 http://127.0.0.1:11434/api/chat`,
			New: func(io.Reader) Load {
				o := llm.New()
				return Load{Options: o, Latencies: netPhases, Timed: o.Timed, Goal: o.Goal, Source: o.Source, Later: o.Later, Reacts: o.Reacts, Steps: o.Steps, Debug: &Debug{Watch: o.Watch}}
			},
		},
		{
			Use:   "grpc [flags] HOST:PORT/package.Service/Method",
			Short: "load a gRPC server: unary calls and streams, by reflection or .proto files",
			Kind:  "grpc",
			Example: `  takt grpc --rate 1000/s -z 30s -d '{"name":"{{.Seq}}"}' 127.0.0.1:50051/helloworld.Greeter/SayHello
  takt grpc --proto route.proto -D points.jsonl --messages 10 -c 20 -n 1000 127.0.0.1:50051/route.Guide/RecordRoute
  takt grpc --rate 500/s --deadline 100ms https://api.example.com/shop.Cart/Get`,
			New: func(stdin io.Reader) Load {
				o := grpc.New(stdin)
				return Load{Options: o, Latencies: netPhases, Learn: o.Learn, Timed: o.Timed, Stdin: o.StdinReaders, Source: o.Source, Identify: o.Identify, Debug: &Debug{Watch: o.Watch}}
			},
		},
		{
			Group: "jms", GroupShort: "a JMS broker by AMQP 1.0: send, receive, or both in one",
			Use:   "client [flags] [DESTINATION ...]",
			Short: "send messages and receive them in one process, as artemis perf client",
			Kind:  "jms",
			Example: `  takt jms client --max-pending 100 --duration 30s --show-latency queue://TEST_QUEUE
  takt jms client --rate 30000 --warmup 5 --duration 30 --max-pending 100 queue://TEST_QUEUE
  takt jms client --producers 3 --consumers 2 --num-destinations 10 --durable --persistent --clientID load topic://ORDERS`,
			New: func(io.Reader) Load { return jmsLoad(jms.NewClient()) },
		},
		{
			Group:   "jms",
			Use:     "producer [flags] [DESTINATION ...]",
			Short:   "send messages at a rate, or with so many pending, as artemis perf producer",
			Kind:    "jms",
			Example: `  takt jms producer --rate 5000 --duration 30s --max-pending 100 --persistent queue://ORDERS`,
			New:     func(io.Reader) Load { return jmsLoad(jms.NewProducer()) },
		},
		{
			Group:   "jms",
			Use:     "consumer [flags] [DESTINATION ...]",
			Short:   "receive messages, and count what is lost, doubled or out of order, as artemis perf consumer",
			Kind:    "jms",
			Example: `  takt jms consumer --message-count 100000 --consumers 4 queue://ORDERS`,
			New:     func(io.Reader) Load { return jmsLoad(jms.NewConsumer()) },
		},
	}
}

func netPhases() []string { return engine.NetPhases }

func jmsLoad(o *jms.Options) Load {
	return Load{
		Options: o, Latencies: jms.Latencies, Defaults: o.Defaults, Unused: o.Unused, NoAnswer: o.NoAnswer,
		Predecessor: Predecessor{Name: "perf", Always: true, Watch: o.Watch},
	}
}
