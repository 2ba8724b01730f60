// Package cluster is what producers and consumers of takt kafka have in common: how the brokers
// are reached, the topic, what clients' errors mean, and the stamps of records.
package cluster

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/taktload/takt/internal/kafka"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/tlsflags"
	"github.com/taktload/takt/internal/value"
)

// Cluster says where the brokers are, and how to speak with them.
type Cluster struct {
	Brokers        string  // host:port, separated by commas
	Topic          string  // the first topic
	Topics         []Topic // all topics with their weights; nil: Topic alone
	APIVersion     string  // "": what the brokers offer
	Client         string
	ConnectTimeout time.Duration
	TLS            TLS
	SASL           SASL
	ClientID       string // takt's name in the brokers' logs and quotas
	Properties     Properties

	Dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	Traffic *Traffic    // counts of one run
	config  *tls.Config // nil: no TLS
}

// TLS are the seed's flags for encrypted connections. A certificate file makes it mTLS.
type TLS struct {
	On       bool
	CA       string // PEM files
	Cert     string
	Key      string
	Insecure bool
	AnyHost  bool // do not compare the names in certificates with hosts

	pem map[string][]byte // texts in place of the files of flags
}

// The names of Cluster.Client.
const (
	ClientTakt        = "takt" // own batches and connections; franz-go finds the leaders
	ClientFranz       = "franz"
	ClientSarama      = "sarama"       // sync batches, the seed's model
	ClientSaramaAsync = "sarama-async" // of the same library
)

// New returns the settings with their defaults.
func New(client string) Cluster {
	return Cluster{
		Brokers: "localhost:9092", Topic: "sangrenel", Client: client, ConnectTimeout: 10 * time.Second, ClientID: "takt",
		SASL: SASL{Kerberos: Kerberos{Service: kerberosService, Config: kerberosConfig}},
		Dial: reach.Dial, Traffic: &Traffic{},
	}
}

// AddFlags declares the flags on fs; clients are the words of --client.
func (c *Cluster) AddFlags(fs *pflag.FlagSet, clients ...string) {
	c.Properties.flags = fs
	value.Declare(fs, value.GroupBroker, func(fs *pflag.FlagSet) { c.addClusterFlags(fs, clients) }, "brokers", "topic")
	value.Declare(fs, value.GroupSecurity, c.addSecurityFlags)
}

func (c *Cluster) addClusterFlags(fs *pflag.FlagSet, clients []string) {
	fs.Var(value.Target(&c.Brokers), "brokers", "comma separated `LIST` of brokers, host:port")
	fs.Var(topicsFlag{value.Text(&c.Topic), c}, "topic", "`NAME`, or several: a=3,b=1")
	fs.Var(value.Choice(&c.Client, clients...), "client", "client library, `"+strings.Join(clients, "|")+"`")
	fs.Var(value.Text(&c.APIVersion), "api-version", "use the protocol of Kafka `VERSION` at most, such as 2.8.0; without it what the brokers offer")
	fs.Var(value.Text(&c.ClientID), "client-id", "`NAME` of takt in the brokers' logs and quotas")
	c.addPropertiesFlag(fs)
	fs.Var(value.Duration(&c.ConnectTimeout), "connect-timeout", "time limit for finding the brokers and the topic, `TIME`")
}

func (c *Cluster) addSecurityFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&c.TLS.On, "tls", false, "encrypt the connections")
	fs.Var(value.InFile(&c.TLS.CA), "tls-ca-cert", "verify the brokers' certificates with the authorities in this PEM `FILE`")
	fs.Var(value.InFile(&c.TLS.Cert), "tls-cert-file", "client certificate, PEM `FILE`")
	fs.Var(value.InFile(&c.TLS.Key), "tls-key-file", "key of the client certificate, PEM `FILE`")
	fs.BoolVar(&c.TLS.AnyHost, "tls-any-host", false, "verify the brokers' certificates, but not the host names in them")
	fs.BoolVar(&c.TLS.Insecure, "tls-insecure-skip-verify", false, "do not verify the brokers' certificates")
	c.SASL.addFlags(fs)
}

// Validate reports every fault at once and reads the files that flags name.
func (c *Cluster) Validate() (faults value.Faults) {
	faults.Add(c.Properties.faults...)
	for _, b := range c.Addresses() {
		if _, err := value.ParseHostPort(b); err != nil {
			faults.Add(value.Faultf("bad broker in --brokers: %w", err))
		}
	}
	faults.If(c.ClientID == "", "--client-id is empty; name takt, or leave the flag out")
	faults.If(c.Topic == "", "--topic is empty; name the topic")
	faults.If(c.ConnectTimeout <= 0, "--connect-timeout must be above 0; brokers that never answer would hang the run")
	if c.APIVersion != "" {
		_, err := sarama.ParseKafkaVersion(c.APIVersion)
		faults.If(err != nil || c.versions() == nil,
			"unknown --api-version %q; use a version of Kafka such as 2.8.0", c.APIVersion)
	}
	faults.Add(c.SASL.read(), c.readTLS())
	return faults
}

// NoArguments refuses arguments: everything is a flag.
func NoArguments(args []string) []error {
	if len(args) == 0 {
		return nil
	}
	return []error{value.Faultf("unexpected argument %q; brokers are named with --brokers, the topic with --topic", args[0])}
}

// Addresses are the brokers to ask first, host:port.
func (c *Cluster) Addresses() (list []string) {
	for b := range strings.SplitSeq(c.Brokers, ",") {
		list = append(list, strings.TrimSpace(b))
	}
	return list
}

// shortVersion is the version without its third number, which changed no protocol
// since 1.0; before that there were four numbers.
func shortVersion(v string) string {
	parts := strings.Split(v, ".")
	keep := 2
	if parts[0] == "0" {
		keep = 3
	}
	return strings.Join(parts[:min(keep, len(parts))], ".")
}

// versions are those of all requests in --api-version; nil if there is no such version.
func (c *Cluster) versions() *kversion.Versions {
	return kversion.FromString("v" + shortVersion(c.APIVersion))
}

// NewestProduce is the newest version of the produce request that may be spoken.
func (c *Cluster) NewestProduce() int16 {
	newest := int16(kafka.Newest)
	if v := c.versions(); c.APIVersion != "" && v != nil {
		has, _ := v.LookupMaxKeyVersion(int16(kmsg.Produce)) // every version has it
		newest = min(newest, has)
	}
	return newest
}

func (c *Cluster) readTLS() error {
	t := c.TLS
	c.config = nil
	if !t.On {
		if t.CA+t.Cert+t.Key != "" || t.Insecure || t.AnyHost {
			return value.Faultf("flags of TLS are given without --tls; add it")
		}
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.Insecure}
	var err error
	if config.RootCAs, err = tlsflags.Authorities(t.file, t.CA, "tls-ca-cert"); err != nil {
		return err
	}
	if config.Certificates, err = tlsflags.Certificates(t.file, t.Cert, t.Key, "tls-cert-file", "tls-key-file"); err != nil {
		return err
	}
	if t.AnyHost && !t.Insecure {
		anyHost(config)
	}
	c.config = config
	return nil
}

// Variables are the settings that shape the load or the target.
func (c *Cluster) Variables() map[string]any {
	v := map[string]any{"brokers": c.Brokers, "topic": c.topicText(), "client": c.Client, "tls": c.TLS.On}
	for name, value := range map[string]string{"api_version": c.APIVersion, "sasl": c.SASL.Mechanism} {
		if value != "" {
			v[name] = value
		}
	}
	return v
}

// CloseTime is the time limit for clients to end after the drain.
const CloseTime = time.Second

// Franz are the options that every franz-go client has.
func (c *Cluster) Franz() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Addresses()...), kgo.ClientID(c.ClientID), kgo.Dialer(c.DialBroker),
		kgo.DialTimeout(c.ConnectTimeout), kgo.DisableClientMetrics(), kgo.WithHooks(c.Traffic),
	}
	if c.APIVersion != "" {
		opts = append(opts, kgo.MaxVersions(c.versions()))
	}
	if m := c.SASL.FranzMechanism(); m != nil {
		opts = append(opts, kgo.SASL(m))
	}
	return opts
}

// DialBroker connects as franz-go wants it: ready to be spoken to.
func (c *Cluster) DialBroker(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.count(ctx, network, addr)
	if err != nil || c.config == nil {
		return conn, err
	}
	config := c.config.Clone()
	config.ServerName, _, _ = net.SplitHostPort(addr) // it was dialled, so it is one
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// Sarama is the configuration that every sarama client has.
func (c *Cluster) Sarama() *sarama.Config {
	s := sarama.NewConfig()
	s.ClientID = c.ClientID
	s.Version = sarama.V2_8_0_0 // the newest that every feature used here was tested with
	if v, err := sarama.ParseKafkaVersion(c.APIVersion); err == nil {
		s.Version = v
	}
	s.Net.DialTimeout = c.ConnectTimeout
	s.Net.Proxy.Enable, s.Net.Proxy.Dialer = true, dialer{c}
	s.Net.TLS.Enable, s.Net.TLS.Config = c.config != nil, c.config
	s.Metadata.AllowAutoTopicCreation = false
	s.Metadata.RefreshFrequency = WatchEvery // so groups find the partitions that were added
	c.SASL.sarama(s)
	return s
}

// dialer gives sarama connections that are counted; it adds TLS itself.
type dialer struct{ *Cluster }

func (d dialer) Dial(network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.ConnectTimeout)
	defer cancel()
	return d.count(ctx, network, addr)
}
