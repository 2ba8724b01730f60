package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/value"
)

// Create says whether and how to create a missing topic.
type Create struct {
	On          bool
	Partitions  int
	Replication int
}

// NewCreate returns the settings with their defaults.
func NewCreate() Create { return Create{Partitions: 3, Replication: 1} }

// AddFlags declares the flags on fs.
func (c *Create) AddFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupBroker, c.addFlags)
}

func (c *Create) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&c.On, "create-topic", false, "make the topic if there is none")
	fs.IntVar(&c.Partitions, "partitions", c.Partitions, "`N` partitions of a topic that is made")
	fs.IntVar(&c.Replication, "replication", c.Replication, "`N` replicas of each")
}

// FindTopic connects to the brokers and returns the partitions of the topic, which it creates
// if create.On.
func (c *Cluster) FindTopic(ctx context.Context, create *Create) ([]int32, error) {
	ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
	defer cancel()
	cl, err := kgo.NewClient(append(c.Franz(), kgo.RequestRetries(1))...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	if err := cl.Ping(ctx); err != nil {
		if Classify(err) == ClassAuth {
			return nil, fmt.Errorf("the brokers refuse the credentials: %s; check --sasl, --sasl-user and the password", sentence(err))
		}
		remedy := "start one, or name others with --brokers"
		if Classify(err) != classRefused {
			remedy = "check the port, and whether it wants --tls or --sasl"
		}
		return nil, fmt.Errorf("no broker of %s answers: %w; %s", c.Brokers, err, remedy)
	}
	if err := c.checkAdvertised(ctx, advertised(ctx, cl)); err != nil {
		return nil, err
	}
	list, err := c.lookUp(ctx, cl)
	if errors.Is(err, kerr.UnknownTopicOrPartition) && create != nil && create.On {
		if err = create.make(ctx, cl, c.Topic); err == nil {
			list, err = c.awaitTopic(ctx, cl)
		}
	}
	switch Classify(err) {
	case ClassUnknownTopic:
		return nil, fmt.Errorf("there is no topic %s; name another with --topic, or make it with takt kafka produce --create-topic", c.Topic)
	case ClassAuth:
		return nil, fmt.Errorf("topic %s may not be used: %s; give the user the right to", c.Topic, sentence(err))
	}
	return list, err
}

// advertised are the addresses that the brokers name as theirs, by the first broker of --brokers that answers.
func advertised(ctx context.Context, cl *kgo.Client) (list []string) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // nil asks for all
	for _, seed := range cl.SeedBrokers() {
		if resp, err := seed.Request(ctx, req); err == nil {
			for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
				list = append(list, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))))
			}
			break
		}
	}
	return list
}

// checkAdvertised reports that no broker answers at any of the addresses that brokers name as theirs. Those of
// --brokers answer, and everything after the first question goes to the others.
func (c *Cluster) checkAdvertised(ctx context.Context, addrs []string) error {
	known, errs := c.Addresses(), make(chan error, len(addrs))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, addr := range addrs {
		if slices.Contains(known, addr) {
			return nil
		}
	}
	for _, addr := range addrs {
		go func() {
			err := c.ping(ctx, addr)
			if err != nil {
				err = fmt.Errorf("%s answers, and names %s as the broker's address, where no broker answers: %w; set advertised.listeners of the broker to an address that this host reaches, or let this host find that one", c.Brokers, addr, err)
			}
			errs <- err
		}()
	}
	var err error
	for range addrs {
		if err = <-errs; err == nil {
			return nil
		}
	}
	return err
}

// ping asks for a sign of life of the broker at addr.
func (c *Cluster) ping(ctx context.Context, addr string) error {
	cl, err := kgo.NewClient(append(c.Franz(), kgo.RequestRetries(0), kgo.SeedBrokers(addr))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	return cl.Ping(ctx)
}

// sentence is a broker's error without its full stop, for use within a sentence.
func sentence(err error) string { return strings.TrimSuffix(err.Error(), ".") }

// Partitions asks for the partitions of the topic, with its own client.
func (c *Cluster) Partitions(ctx context.Context) ([]int32, error) {
	cl, err := kgo.NewClient(append(c.Franz(), kgo.RequestRetries(1))...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return c.lookUp(ctx, cl)
}

// lookUp asks for the partitions of the topic.
func (c *Cluster) lookUp(ctx context.Context, cl *kgo.Client) ([]int32, error) {
	resp, err := c.Metadata(ctx, cl)
	if err != nil {
		return nil, err
	}
	var list []int32
	for _, p := range resp.Topics[0].Partitions {
		list = append(list, p.Partition)
	}
	slices.Sort(list)
	return list, nil
}

// Metadata asks the brokers about the topic and themselves.
func (c *Cluster) Metadata(ctx context.Context, cl *kgo.Client) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr(c.Topic)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 {
		return nil, errors.New("the broker says nothing of the topic; check that it speaks Kafka's protocol")
	}
	return resp, kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

// lookAgain is the time that brokers have to learn of a new topic before the next request.
const lookAgain = 50 * time.Millisecond

// awaitTopic waits until the new topic is known and each partition has its leader, which its
// offset shows. Before that, records without acknowledgement are silently lost.
func (c *Cluster) awaitTopic(ctx context.Context, cl *kgo.Client) ([]int32, error) {
	for {
		list, err := c.lookUp(ctx, cl)
		if err == nil {
			_, err = c.ListOffsets(ctx, list, OffsetLatest, false)
		}
		if class := Classify(err); class != ClassUnknownTopic && class != classNotLeader || ctx.Err() != nil {
			return list, err
		}
		pause.For(lookAgain, ctx.Done())
	}
}

// make creates the topic and ignores "already exists".
func (c *Create) make(ctx context.Context, cl *kgo.Client, name string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(c.Partitions), int16(c.Replication)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("topic %s cannot be made: %w; check --partitions and --replication", name, err)
		}
	}
	return nil
}
