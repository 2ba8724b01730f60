package produce

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/value"
)

// AddFlags declares the flags on fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Cluster.AddFlags(fs, cluster.ClientTakt, cluster.ClientFranz, cluster.ClientSarama, cluster.ClientSaramaAsync)
	o.addSeedFlags(fs)
	o.addTaktFlags(fs)
	if f := fs.Lookup("max-in-flight"); f != nil {
		f.Usage = "at most `N` records in flight at a rate; without a rate each writer has a batch"
	}
}

// SeedFlags are the long flags of sangrenel, which are written with one dash there.
func SeedFlags() []string {
	return []string{
		"brokers", "topic", "message-size", "message-batch-size", "produce-rate", "compression", "required-acks",
		"workers", "writers-per-worker", "noop", "interval", "api-version", "tls", "tls-ca-cert", "tls-cert-file",
		"tls-key-file", "tls-insecure-skip-verify", "graphite-ip", "graphite-port", "graphite-metrics-prefix",
		"max-open-requests", "emit-errors", "messages-data", "data",
	}
}

func (o *Options) addSeedFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupMessages, o.addMessageFlags, "message-size", "message-batch-size", "required-acks")
	value.AddFormer(fs, value.GroupLoad, value.Former{
		Of: "sangrenel", Name: "produce-rate", Flag: "rate", Means: produceRate, Unset: unlimited,
		Usage: "`N` records per second in all; sangrenel's form of --rate N/s (default: no limit)",
	})
	value.Declare(fs, value.GroupConnections, o.addWriterFlags)
	value.Declare(fs, value.GroupOutput, o.addNarrationFlags)
	value.Declare(fs, value.GroupOutput, o.Graphite.addFlags)
}

func (o *Options) addMessageFlags(fs *pflag.FlagSet) {
	fs.Var(sizeFlag{value.Size(&o.MessageSize), &o.Sizes}, "message-size", "`BYTES` of a random message, or a distribution: 100..64KiB, lognormal:MEAN,P99, zipf:MIN..MAX,EXPONENT, file:PATH")
	fs.Var(value.List(&o.Messages), "messages-data", "send this `TEXT` instead of random ones; repeatable: in turn")
	fs.Var(value.InFile(&o.Data), "data", "send the lines of this `FILE` in turn")
	fs.Var(value.InFile(&o.Recorded.File), "recorded", "write the records of this `FILE` of consume --capture again, at their recorded times or at a rate")
	fs.Var(value.Plain((*speed)(&o.Recorded.Speed)), "speed", "speed-up of the times of --recorded, `2x` for twice as fast")
	fs.Var(value.Duration(&o.Recorded.MaxGap), "max-gap", "shorten times without records in --recorded to `TIME`; without it they stay")
	fs.Var(value.Choice(&o.Compression, compressions...), "compression", "compress batches by `"+strings.Join(compressions, "|")+"`")
	fs.Var(value.Choice(&o.Acks, AcksNone, AcksLocal, AcksAll), "required-acks", "a record is acknowledged by `none|local|all`: nobody, the leader, or all replicas in sync")
	fs.IntVar(&o.BatchSize, "message-batch-size", o.BatchSize, "write up to `N` records that are due together")
	fs.BoolVar(&o.Noop, "noop", false, "make and serialise messages without a broker: what this machine can generate")
}

// unlimited is sangrenel's default of -produce-rate, which is no rate.
const unlimited = "100000000"

func produceRate(text string) string {
	if text == unlimited {
		return ""
	}
	return text + "/s"
}

func (o *Options) addWriterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Workers, "workers", o.Workers, "`N` sets of connections")
	fs.IntVar(&o.Writers, "writers-per-worker", o.Writers, "at most `N` batches under way on each set")
	fs.IntVar(&o.MaxOpen, "max-open-requests", o.MaxOpen, "at most `N` requests under way on one connection")
}

func (o *Options) addNarrationFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Interval, "interval", o.Interval, "`SECONDS` between two blocks of --progress sangrenel")
	fs.BoolVar(&o.EmitErrors, "emit-errors", false, "print the error of every failed record with --progress sangrenel, at most 100 an interval")
}

func (o *Options) addTaktFlags(fs *pflag.FlagSet) {
	o.Create.AddFlags(fs)
	value.Declare(fs, value.GroupMessages, o.addRecordFlags)
	value.Declare(fs, value.GroupConnections, o.addTimeoutFlag)
}

func (o *Options) addRecordFlags(fs *pflag.FlagSet) {
	fs.Var(value.Naming(value.Text(&o.Key), payload.Names), "key", "key of a record, `TEXT` with placeholders such as user-{{randInt 1 1000}} or user-{{zipf 1000 1.1}}; it chooses the partition")
	fs.Var(value.Share(&o.Tombstones), "tombstones", "send `SHARE` of the records, such as 5%, with a key and no value: a compacted topic deletes their keys")
	fs.Var(value.Naming(value.Repeated(&o.Headers), payload.Names), "header", "`NAME: VALUE` of a header of every record; the value may have placeholders as --key has; repeatable")
	fs.BoolVar(&o.Plain, "plain", false, "send no stamps; consumers cannot count lost records then")
	fs.Var(value.Size(&o.BatchBytes), "batch-bytes", "a batch has at most `BYTES` before compression")
	fs.Var(lingerFlag{value.Duration(&o.Linger)}, "linger", "wait up to `TIME` for a batch to fill; 0 writes as soon as a writer is free. At a rate 5ms sends as Java's producer does, in batches of 16 KiB")
	fs.Var(onFlag{&o.Idempotence, &o.idempotence}, "idempotence", "let brokers drop what a retry wrote twice; the default with --required-acks all, except with sarama")
	fs.Lookup("idempotence").NoOptDefVal = "true"
	fs.IntVar(&o.Transaction, "transactions", 0, "write in transactions and commit every `N` records of a worker; a record ends with its commit")
}

func (o *Options) addTimeoutFlag(fs *pflag.FlagSet) {
	fs.Var(value.Duration(&o.Timeout), "timeout", "a record fails if it is not acknowledged within `TIME` after it was written")
}

// onFlag is a flag that is on, off, or not given.
type onFlag struct{ on, given *bool }

// String implements pflag.Value.
func (f onFlag) String() string { return strconv.FormatBool(*f.on) }

// Set implements pflag.Value.
func (f onFlag) Set(text string) (err error) {
	*f.on, err = strconv.ParseBool(text)
	*f.given = err == nil
	return err
}

// Type implements pflag.Value.
func (f onFlag) Type() string { return "bool" }
