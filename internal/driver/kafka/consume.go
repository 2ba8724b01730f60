package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Consume are the flags of takt kafka consume beyond those of every load command.
type Consume struct {
	Cluster
	Group     string // "": partitions are assigned
	Partition string // a list of numbers; "": all
	From      string // beginning, latest, or an instant
	Committed bool
	MinBytes  int
	MaxWait   time.Duration // of a fetch

	Exit bool // at the end that the log has at the start

	known   int32 // partitions of the topic
	ends    map[int32]int64
	wanted  []int32
	at      int64           // what From says, as Kafka's ListOffsets takes it
	offsets map[int32]int64 // where to start, of assigned partitions
}

// The names of Consume.From.
const (
	fromBeginning = "beginning"
	fromLatest    = "latest"
)

// Instants that ListOffsets understands beside milliseconds since 1970.
const (
	offsetLatest    = -1
	offsetBeginning = -2
)

// NewConsume are the options with their defaults.
func NewConsume() *Consume {
	return &Consume{Cluster: newCluster(clientFranz), From: fromBeginning, MinBytes: 1, MaxWait: 500 * time.Millisecond}
}

// AddFlags declares the flags on fs.
func (o *Consume) AddFlags(fs *pflag.FlagSet) {
	o.Cluster.addFlags(fs, clientFranz, clientSarama)
	fs.Var(value.Text(&o.Group), "group", "consume as a member of the group `NAME`, which commits; without it all partitions, and nothing is committed")
	fs.Var(value.Text(&o.Partition), "partition", "consume only the partitions of this `LIST`, such as 0,2")
	fs.Var(value.Text(&o.From), "from", "start at `beginning|latest|TIME`, of which TIME is RFC 3339 or seconds since 1970; of a group only where it has committed nothing")
	fs.BoolVar(&o.Committed, "read-committed", false, "leave out records of transactions that are open or aborted")
	fs.BoolVarP(&o.Exit, "exit", "e", false, "stop at the end that the log has at the start, as kcat -e and kafkactl --exit do")
	fs.Var(value.Size(&o.MinBytes), "fetch-min-bytes", "a broker waits for `BYTES` before it answers a fetch")
	fs.Var(value.Duration(&o.MaxWait), "fetch-max-wait", "… but for `TIME` at most")
}

// Shape has nothing to fill in.
func (o *Consume) Shape(*engine.Options) {}

// Unused is driver.Load.Unused.
func (o *Consume) Unused() (flags []string, why string) {
	return append(engine.SendFlags(), "run-group"), "a consumer sends nothing and takes what there is; say with --duration, -n or --exit when it ends"
}

// Validate reports every fault at once.
func (o *Consume) Validate(args []string) []error {
	faults := append(noArguments(args), o.Cluster.validate()...)
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, value.Faultf(format, args...))
		}
	}
	refuse(o.Group != "" && o.Partition != "", "both --group and --partition are given; a group assigns its partitions itself, keep one")
	refuse(o.Exit && o.Client == clientSarama, "--client sarama does not tell when it has read a partition to its end, which --exit needs; use --client franz")
	refuse(o.MinBytes < 1 || o.MaxWait <= 0, "--fetch-min-bytes must be at least 1 and --fetch-max-wait above 0")
	for _, err := range []error{o.readPartitions(), o.readFrom()} {
		if err != nil {
			faults = append(faults, err)
		}
	}
	refuse(o.Group != "" && o.Client == clientSarama && o.at >= 0, "--client sarama cannot start a group at an instant; use beginning or latest, or --client franz")
	return faults
}

func (o *Consume) readPartitions() error {
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

func (o *Consume) readFrom() error {
	switch o.From {
	case fromBeginning:
		o.at = offsetBeginning
	case fromLatest:
		o.at = offsetLatest
	default:
		var at engine.StartAt
		if err := at.Set(o.From); err != nil {
			return value.Faultf("bad --from %q; use beginning, latest, or an instant such as 2026-11-21T10:00:00Z", o.From)
		}
		o.at = time.Time(at).UnixMilli()
	}
	return nil
}

// Secrets implements takt.Secretive.
func (o *Consume) Secrets() []string { return o.SASL.secrets() }

// Variables are the settings that shape the load or the target.
func (o *Consume) Variables() map[string]any {
	v := o.Cluster.variables()
	v["from"], v["read_committed"], v["fetch_min_bytes"], v["fetch_max_wait_s"] = o.From, o.Committed, o.MinBytes, o.MaxWait.Seconds()
	if o.Group != "" {
		v["group"] = o.Group
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
func (o *Consume) NoAnswer() (why, instead string) {
	return "a consumer sends nothing, so there is no response time", "transfer.p99"
}

// Open makes the driver of one run.
func (o *Consume) Open(context.Context, int) (*takt.Driver, error) {
	o.wire = &wire{}
	r := newReceiver(o.wire, nil)
	return &takt.Driver{
		Phases:  phases(),
		Probe:   o.probe,
		Receive: func(ctx context.Context, sink takt.Sink) error { return o.receive(ctx, r, sink) },
		Finish: func(ctx context.Context, rep *takt.Report) error {
			o.findLag(ctx, r, rep)
			r.describe(rep)
			o.wire.describeTopic(rep)
			return nil
		},
	}, nil
}

// errRead ends a run with --exit.
var errRead = errors.New("everything was read")

func (o *Consume) receive(ctx context.Context, r *receiver, sink takt.Sink) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.until, r.full = o.ends, func() { stop(errRead) }
	c, err := o.connect(r)
	if err != nil {
		return err
	}
	defer c.close()
	unwatch, err := o.watch(c, func(err error) { stop(err) })
	if err != nil {
		return err
	}
	defer unwatch()
	err = r.receive(ctx, c, sink)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRead):
		return nil
	case cause != nil:
		return cause
	}
	return err
}

// watch looks at the topic for c.
func (o *Consume) watch(c consumer, gone func(error)) (stop func(), err error) {
	from := o.known
	return o.watchTopic(from, func(_ context.Context, partitions int32) bool {
		if len(o.wanted) == 0 {
			c.follow(from, partitions)
		}
		from = partitions
		return true
	}, gone)
}

// lagTime is how long brokers may take to say where the log ends.
const lagTime = 2 * time.Second

// findLag asks where the log ends when the run does: a client knows that of the partitions
// that it has just read.
func (o *Consume) findLag(ctx context.Context, r *receiver, rep *takt.Report) {
	ctx, cancel := context.WithTimeout(ctx, lagTime)
	defer cancel()
	if o.Group == "" && len(o.wanted) == 0 {
		if there, err := o.partitions(ctx); err == nil {
			for p := o.known; p < int32(len(there)); p++ {
				r.add(p)
			}
		}
	}
	ends, err := o.listOffsets(ctx, r.read(), offsetLatest, o.Committed)
	if err != nil {
		rep.Warn("lag", "the end of the log cannot be found, so lag is as of the last records that came: %v", err)
		return
	}
	r.setEnds(ends)
}

func (o *Consume) connect(r *receiver) (consumer, error) {
	switch {
	case o.Client == clientSarama && o.Group != "":
		return o.openSaramaGroup(r)
	case o.Client == clientSarama:
		return o.openSaramaPartitions(r)
	}
	return o.openFranzConsumer(r)
}

// probe finds the partitions and where to start in each.
func (o *Consume) probe(ctx context.Context) error {
	there, err := o.findTopic(ctx, nil)
	if err != nil {
		return err
	}
	o.known, o.ends = int32(len(there)), nil
	if o.Exit {
		if o.ends, err = o.listOffsets(ctx, there, offsetLatest, o.Committed); err != nil {
			return err
		}
	}
	if o.Group != "" {
		return nil
	}
	for _, p := range o.wanted {
		if !slices.Contains(there, p) {
			return fmt.Errorf("topic %s has no partition %d; it has %d, counted from 0", o.Topic, p, len(there))
		}
	}
	if len(o.wanted) > 0 {
		there = o.wanted
	}
	o.offsets, err = o.listOffsets(ctx, there, o.at, o.Committed)
	return err
}

// listOffsets are the offsets of the first records from an instant on, or where the
// next record will come; with committed where the first open transaction begins.
func (c *Cluster) listOffsets(ctx context.Context, partitions []int32, at int64, committed bool) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
	defer cancel()
	cl, err := kgo.NewClient(c.franz()...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	offsets := map[int32]int64{}
	for ask := partitions; len(ask) > 0; at = offsetLatest {
		resp, err := offsetRequest(c.Topic, ask, at, committed).RequestWith(ctx, cl)
		if err != nil {
			return nil, fmt.Errorf("the offsets of topic %s cannot be found: %w", c.Topic, err)
		}
		ask = nil
		for _, p := range resp.Topics[0].Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("the offset of partition %d of topic %s cannot be found: %w", p.Partition, c.Topic, err)
			}
			if offsets[p.Partition] = p.Offset; p.Offset < 0 { // nothing came after the instant
				ask = append(ask, p.Partition)
			}
		}
	}
	return offsets, nil
}

func offsetRequest(topic string, partitions []int32, at int64, committed bool) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	if committed {
		req.IsolationLevel = 1
	}
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p, at
		t.Partitions = append(t.Partitions, rp)
	}
	req.Topics = append(req.Topics, t)
	return req
}
