// Package consume is takt kafka consume, and what receives in takt kafka e2e: the clients franz-go
// and sarama stand behind one interface, and the same report comes from each.
package consume

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver/kafka/capture"
	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Options are the flags of takt kafka consume beyond those of every load command.
type Options struct {
	cluster.Cluster
	Group     string // "": partitions are assigned
	Instance  string // static member of Group; "": dynamic
	Members   Membership
	Partition string // a list of numbers; "": all
	From      string // beginning, latest, or an instant
	Committed bool
	MinBytes  int
	MaxWait   time.Duration // of a fetch

	Capture     string // file for the records; "": none
	CaptureSize int64  // its largest size in bytes

	Exit bool // at the end that the log has at the start

	At int64 // what From says, as Kafka's ListOffsets takes it

	into    *capture.Writer  // nil: nothing is captured
	member  int              // number of the member in this process, from 0
	known   map[string]int32 // number of partitions, by topic
	ends    map[place]int64
	before  map[place]int64 // what the group had committed before the run; -1: nothing
	wanted  []int32
	offsets map[place]int64 // where to start, of assigned partitions
}

// The names of Options.From.
const (
	fromBeginning = "beginning"
	FromLatest    = "latest"
)

// New are the options with their defaults.
func New() *Options {
	return &Options{Cluster: cluster.New(cluster.ClientFranz), From: fromBeginning, MinBytes: 1, MaxWait: 500 * time.Millisecond, CaptureSize: 1 << 30, Members: Membership{Count: 1, Protocol: protocolClassic, Down: downTime}}
}

// AddFlags declares the flags on fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Cluster.AddFlags(fs, cluster.ClientFranz, cluster.ClientSarama)
	value.Declare(fs, value.GroupMessages, o.addReadFlags, "group", "from", "exit")
	value.Declare(fs, value.GroupMessages, o.Members.addFlags)
	value.Declare(fs, value.GroupConnections, o.AddFetchFlags)
}

func (o *Options) addReadFlags(fs *pflag.FlagSet) {
	fs.Var(value.Text(&o.Group), "group", "consume as a member of the group `NAME`, which commits; without it all partitions, and nothing is committed")
	fs.Var(value.Text(&o.Instance), "group-instance-id", "be the static member `NAME` of --group, whose partitions wait for its return")
	fs.Var(value.Text(&o.Partition), "partition", "consume only the partitions of this `LIST`, such as 0,2")
	fs.Var(value.Text(&o.From), "from", "start at `beginning|latest|TIME`, as RFC 3339 or seconds since 1970; a group starts there only where it has committed nothing")
	fs.BoolVar(&o.Committed, "read-committed", false, "leave out records of transactions that are open or aborted")
	fs.Var(value.OutFile(&o.Capture), "capture", "write the records to this `FILE`, compressed if it ends with .zst or .gz, for produce --recorded")
	fs.Var(value.Size(&o.CaptureSize), "capture-size", "end the run before the file of --capture is larger than `BYTES`")
	fs.BoolVarP(&o.Exit, "exit", "e", false, "stop at the end that the log has at the start, as kcat -e and kafkactl --exit do")
}

// AddFetchFlags declares the flags that say how records are fetched.
func (o *Options) AddFetchFlags(fs *pflag.FlagSet) {
	fs.Var(value.Size(&o.MinBytes), "fetch-min-bytes", "a broker waits for `BYTES` before it answers a fetch")
	fs.Var(value.Duration(&o.MaxWait), "fetch-max-wait", "… but for `TIME` at most")
}

// Shape reads --properties, and has nothing else to fill in.
func (o *Options) Shape(*engine.Options) { o.ReadProperties() }

// Unused is driver.Load.Unused.
func (o *Options) Unused() (flags []string, why string) {
	return append(engine.SendFlags(), "run-group"), "a consumer sends nothing and takes what there is; say with --duration, -n or --exit when it ends"
}

// Validate reports every fault at once.
func (o *Options) Validate(args []string) []error {
	faults := value.Faults(cluster.NoArguments(args))
	faults.Add(o.Cluster.Validate()...)
	faults.If(o.Group != "" && o.Partition != "", "both --group and --partition are given; a group assigns its partitions itself, keep one")
	faults.If(o.Instance != "" && o.Group == "", "--group-instance-id is given without --group; add the group")
	faults.If(o.Exit && o.Client == cluster.ClientSarama, "--client sarama does not tell when it has read a partition to its end, which --exit needs; use --client franz")
	o.checkMembership(&faults)
	o.checkCapture(&faults)
	o.CheckFetch(&faults)
	faults.Add(o.readPartitions(), o.readFrom())
	faults.If(o.Group != "" && o.Client == cluster.ClientSarama && o.At >= 0, "--client sarama cannot start a group at an instant; use beginning or latest, or --client franz")
	return faults
}

// CheckFetch checks the flags that takt kafka e2e has, too. A fetch has both figures in 32 bits.
func (o *Options) CheckFetch(faults *value.Faults) {
	faults.Range("fetch-min-bytes", o.MinBytes, 1, math.MaxInt32)
	faults.If(o.MaxWait <= 0 || o.MaxWait > mostWait, "--fetch-max-wait is %v; give a time above 0, at most %v", o.MaxWait, mostWait)
}

// mostWait is the largest --fetch-max-wait.
const mostWait = 24 * time.Hour

func (o *Options) readPartitions() error {
	o.wanted = nil
	if o.Partition == "" {
		return nil
	}
	for _, text := range strings.Split(o.Partition, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
		if err != nil {
			return value.Faultf("bad --partition %q; give numbers from 0 on, separated by commas", o.Partition)
		}
		o.wanted = append(o.wanted, int32(n))
	}
	return nil
}

func (o *Options) readFrom() error {
	switch o.From {
	case fromBeginning:
		o.At = cluster.OffsetBeginning
	case FromLatest:
		o.At = cluster.OffsetLatest
	default:
		var at engine.StartAt
		if err := at.Set(o.From); err != nil {
			return value.Faultf("bad --from %q; use beginning, latest, or an instant such as 2026-11-21T10:00:00Z", o.From)
		}
		o.At = time.Time(at).UnixMilli()
	}
	return nil
}

// Secrets implements takt.Secretive.
func (o *Options) Secrets() []string { return o.SASL.Secrets() }

// Variables are the settings that shape the load or the target.
func (o *Options) Variables() map[string]any {
	v := o.Cluster.Variables()
	v["from"], v["read_committed"], v["fetch_min_bytes"], v["fetch_max_wait_s"] = o.From, o.Committed, o.MinBytes, o.MaxWait.Seconds()
	if o.Group != "" {
		v["group"] = o.Group
		o.Members.variables(v)
	}
	if o.Instance != "" {
		v["group_instance_id"] = o.Instance
	}
	if o.Capture != "" {
		v["capture"], v["capture_size"] = o.Capture, o.CaptureSize
	}
	if o.Partition != "" {
		v["partition"] = o.Partition
	}
	if o.Exit {
		v["exit"] = true
	}
	return v
}

// NoAnswer implements driver.Unanswered.
func (o *Options) NoAnswer() (why, instead string) {
	return "a consumer sends nothing, so there is no response time", "transfer.p99"
}

// Open makes the driver of one run.
func (o *Options) Open(context.Context, int) (*takt.Driver, error) {
	o.Traffic = &cluster.Traffic{}
	r := NewReceiver(o.Traffic, nil, o.Names()...)
	r.committed = o.Committed
	if o.Group != "" {
		r.turnover.members = o.Members.Count
	}
	r.outages = newOutages(o.MaxWait, len(o.Names()) > 1, r.Arrivals)
	return &takt.Driver{
		Phases:  cluster.Phases(),
		Probe:   o.Probe,
		Outage:  r.outages.log.Newest,
		Lag:     r.Lag,
		Receive: func(ctx context.Context, sink takt.Sink) error { return o.receive(ctx, r, sink) },
		Finish: func(ctx context.Context, rep *takt.Report) error {
			o.FindLag(ctx, r, rep)
			r.Describe(rep)
			r.outages.log.Describe(rep, false)
			o.Properties.Describe(rep)
			o.Traffic.Describe(rep)
			o.describeCapture(rep)
			return nil
		},
	}, nil
}

// errRead ends a run with --exit.
var errRead = errors.New("everything was read")

func (o *Options) receive(ctx context.Context, r *Receiver, sink takt.Sink) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if o.Exit {
		r.until, r.full = o.ends, func() { stop(errRead) }
	}
	if o.Capture != "" {
		if err := o.beginCapture(); err != nil {
			return err
		}
	}
	r.outages.start = time.Now()
	r.outages.log.Held = o.Traffic.HeldSince(r.outages.start)
	c, err := o.connect(r)
	if err != nil {
		return err
	}
	defer c.Close()
	unwatch, err := o.watch(r, c, func(err error) { stop(err) })
	if err != nil {
		return err
	}
	defer unwatch()
	err = r.receive(ctx, c, sink)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRead), errors.Is(err, capture.ErrFull):
		return nil
	case cause != nil:
		return cause
	}
	return err
}

func (o *Options) connect(r *Receiver) (Consumer, error) {
	for _, n := range o.known {
		r.turnover.partitions += int(n)
	}
	if o.Members.Count > 1 || o.Members.Every > 0 {
		return o.openMembers(r)
	}
	return o.connectMember(r)
}

func (o *Options) connectMember(r *Receiver) (Consumer, error) {
	switch {
	case o.Client == cluster.ClientSarama && o.Group != "":
		return o.openSaramaGroup(r)
	case o.Client == cluster.ClientSarama:
		return o.openSaramaPartitions(r)
	}
	return o.openFranzConsumer(r)
}

// Listen begins to consume before any record is sent.
func (o *Options) Listen(r *Receiver) (Consumer, error) {
	if o.Client == cluster.ClientSarama {
		return o.openSaramaPartitions(r)
	}
	f, err := o.openFranzConsumer(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.ConnectTimeout)
	defer cancel()
	if err := f.await(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
