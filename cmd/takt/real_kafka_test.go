//go:build real

package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file run takt kafka against the broker of scripts/servers. They compare its
// reports with what a plain consumer reads from the topic.

// broker is the broker that scripts/servers started.
type broker struct {
	host   string
	port   int    // of the listener without TLS and SASL
	folder string // contains pki/
}

// The ports of the other listeners, relative to the first.
const (
	mtlsPort = 1
	saslPort = 2
)

func kafka(t *testing.T) broker {
	t.Helper()
	addr, folder, ok := strings.Cut(os.Getenv("TAKT_KAFKA"), " ")
	host, number, _ := strings.Cut(addr, ":")
	port, err := strconv.Atoi(number)
	if !ok || err != nil {
		t.Fatal("TAKT_KAFKA is not 'HOST:PORT FOLDER'; run scripts/test-real")
	}
	return broker{host, port, folder}
}

// addr is the address of a listener; n: 0, mtlsPort or saslPort.
func (b broker) addr(n int) string { return b.host + ":" + strconv.Itoa(b.port+n) }

func (b broker) pki(name string) string { return filepath.Join(b.folder, "pki", name) }

// topicOf is a topic that no other test uses, and no other run of the same test.
func topicOf(t *testing.T) string {
	return strings.NewReplacer("/", ".", ",", "").Replace(t.Name()) + "." + strconv.Itoa(os.Getpid())
}

// run runs takt kafka COMMAND on the topic of the test.
func (b broker) run(t *testing.T, command string, args ...string) *takt.Report {
	t.Helper()
	r := reportOf(t, "kafka "+command, append([]string{"--brokers", b.addr(0), "--topic", topicOf(t)}, args...))
	if command != "consume" { // it has no response times
		checkLaws(t, r)
		if r.Ledger.Missing > 0 {
			t.Errorf("ledger %+v: the broker lost records", r.Ledger)
		}
	}
	return r
}

// produce creates the topic of the test and fills it.
func (b broker) produce(t *testing.T, args ...string) *takt.Report {
	t.Helper()
	t.Cleanup(func() { b.drop(t, topicOf(t)) })
	return b.run(t, "produce", append([]string{"--create-topic"}, args...)...)
}

// drop deletes a topic, because after a kill the broker reads all topics.
func (b broker) drop(t *testing.T, topic string) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr(0)))
	if err != nil {
		t.Error(err)
		return
	}
	defer cl.Close()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Topics = []kmsg.DeleteTopicsRequestTopic{kmsg.NewDeleteTopicsRequestTopic()}
	req.Topics[0].Topic = &topic
	if _, err := req.RequestWith(context.Background(), cl); err != nil { // the test's context has ended
		t.Error(err)
	}
}

// checkLaws checks the sums that every report must satisfy.
func checkLaws(t *testing.T, r *takt.Report) {
	t.Helper()
	c := r.Counts
	if c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
		t.Errorf("counts %+v do not add up", c)
	}
	of := takt.LatencyResponse
	if _, oneWay := r.Latency[takt.LatencySend]; oneWay {
		of = takt.LatencySend
	}
	if n := r.Latency[of].Count; n != c.OK+c.Failed+c.Unfinished {
		t.Errorf("%d %s times, counts %+v", n, of, c)
	}
	var failed uint64
	for _, e := range r.Errors {
		failed += e.Count
	}
	if failed != c.Failed {
		t.Errorf("%d failed, their classes add up to %d: %v", c.Failed, failed, r.Errors)
	}
}

// all demands n operations, all ok.
func all(t *testing.T, r *takt.Report, n uint64) {
	t.Helper()
	if r.Counts.Scheduled != n || r.Counts.OK != n {
		t.Errorf("counts %+v, want %d, all ok; errors %v", r.Counts, n, r.Errors)
	}
}

// found is a record in a topic.
type found struct {
	run       string // as in the stamp; so are stream, number and due
	stream    uint16
	number    uint64
	due       int64 // Unix nanoseconds
	partition int32
	offset    int64
	codec     uint8
	key       string
}

// partitions is the number of partitions of a topic that takt creates.
const partitions = 3

// ends returns the offset after the last record of each partition.
func ends(t *testing.T, cl *kgo.Client, topic string) map[int32]int64 {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.Topics = []kmsg.ListOffsetsRequestTopic{kmsg.NewListOffsetsRequestTopic()}
	req.Topics[0].Topic = topic
	for p := range int32(partitions) {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p, -1
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, rp)
	}
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	offsets := map[int32]int64{}
	for _, p := range resp.Topics[0].Partitions {
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			t.Fatal(err)
		}
		offsets[p.Partition] = p.Offset
	}
	return offsets
}

// read reads all records of the topic of the test, at least n, and returns where each partition ends.
// It leaves out Kafka's control records, and with kgo.ReadCommitted the records of open or aborted
// transactions.
func (b broker) read(t *testing.T, n int, level kgo.IsolationLevel) (list []found, end map[int32]int64) {
	t.Helper()
	topic := topicOf(t)
	start, next := map[int32]kgo.Offset{}, map[int32]int64{}
	for p := range int32(partitions) {
		start[p], next[p] = kgo.NewOffset().AtStart(), 0
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr(0)), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: start}),
		kgo.KeepControlRecords(), kgo.FetchIsolationLevel(level))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for len(list) < n || !maps.Equal(next, end) {
		if len(list) >= n && end == nil { // with --required-acks none the last records arrive after the run
			end = ends(t, cl, topic)
			continue
		}
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%v: the topic has %d records, want %d", err, len(list), n)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			next[r.Partition] = r.Offset + 1
			if !r.Attrs.IsControl() {
				list = append(list, foundIn(t, r))
			}
		})
	}
	return list, end
}

// foundIn reads the stamp of a record, at the head of its value or in a header:
// "tkt1", 8 bytes of the run, 2 of the stream, 8 of the number, 8 of the due instant.
func foundIn(t *testing.T, r *kgo.Record) found {
	t.Helper()
	stamp := r.Value
	for _, h := range r.Headers {
		if h.Key == "takt" {
			stamp = h.Value
		}
	}
	if len(stamp) < 30 || string(stamp[:4]) != "tkt1" {
		t.Fatalf("offset %d of partition %d has no stamp: %.60q", r.Offset, r.Partition, r.Value)
	}
	return found{
		run: string(stamp[4:12]), stream: binary.BigEndian.Uint16(stamp[12:]), number: binary.BigEndian.Uint64(stamp[14:]),
		due: int64(binary.BigEndian.Uint64(stamp[22:])), partition: r.Partition, offset: r.Offset, codec: r.Attrs.CompressionType(), key: string(r.Key),
	}
}

// runOf returns the records of the run of a report.
func runOf(list []found, r *takt.Report) []found {
	return slices.DeleteFunc(list, func(f found) bool { return runName(f) != r.Extra["run"] })
}

// runName is the run of a record as reports name it.
func runName(f found) string { return hex.EncodeToString([]byte(f.run)) }

// whole demands the n records of one run and nothing else: every number of each stream and partition
// once, from 0 on, and in order.
func whole(t *testing.T, list []found, n int) {
	t.Helper()
	type stream struct {
		run       string
		stream    uint16
		partition int32
	}
	next := map[stream]uint64{}
	for _, f := range list {
		s := stream{f.run, f.stream, f.partition}
		if f.number != next[s] {
			t.Errorf("stream %d, partition %d: number %d, want %d", f.stream, f.partition, f.number, next[s])
			return
		}
		next[s]++
	}
	if len(list) != n || len(next) > 0 && slices.ContainsFunc(list, func(f found) bool { return f.run != list[0].run }) {
		t.Errorf("the topic has %d records, want %d of one run", len(list), n)
	}
}

// At a rate, due instants are evenly spaced, also with several workers, keys and headers.
func TestRealKafkaRate(t *testing.T) {
	b := kafka(t)
	for _, client := range []string{"takt", "franz", "sarama", "sarama-async"} {
		t.Run(client, func(t *testing.T) {
			r := b.produce(t, "--client", client, "--rate", "1000/s", "--duration", "2s", "--workers", "3", "--required-acks", "all", "--idempotence",
				"--key", "user-{{randInt 1 100}}", "--header", "by: takt", "--messages-data", "short")
			all(t, r, 2000)
			list, _ := b.read(t, 2000, kgo.ReadUncommitted())
			whole(t, list, 2000)
			home := map[string]int32{}
			slices.SortFunc(list, func(a, b found) int { return cmp.Compare(a.due, b.due) })
			for i, f := range list {
				if due := f.due - list[0].due; due != int64(i)*1e6 {
					t.Fatalf("record %d was due at %d ns, want one every ms", i, due)
				}
				if at, ok := home[f.key]; ok && at != f.partition {
					t.Fatalf("key %s is in partitions %d and %d", f.key, at, f.partition)
				}
				home[f.key] = f.partition
			}
			if len(home) != 100 {
				t.Errorf("%d keys, want 100", len(home))
			}
		})
	}
}

// With --transactions all records that the report counts as ok are committed, in 20 transactions.
func TestRealKafkaTransactions(t *testing.T) {
	b := kafka(t)
	r := b.produce(t, "--required-acks", "all", "--transactions", "100", "--message-batch-size", "30", "-n", "1950")
	all(t, r, 1950)
	list, end := b.read(t, 1950, kgo.ReadCommitted())
	whole(t, list, 1950)
	var offsets int64
	for _, offset := range end {
		offsets += offset
	}
	// Each of the 20 transactions ends with a marker in every partition that it wrote to.
	if markers := offsets - 1950; markers < 20 || markers > 60 {
		t.Errorf("%d markers, want 20 transactions", markers)
	}
	if n := r.Latency["commit"].Count; n != 20 {
		t.Errorf("%d commits, want 20", n)
	}
}

// A consumer receives every written record once.
func TestRealKafkaConsume(t *testing.T) {
	b := kafka(t)
	all(t, b.produce(t, "--message-batch-size", "50", "-n", "3000"), 3000)
	for _, client := range []string{"franz", "sarama"} {
		for _, way := range [][]string{{"--from", "beginning"}, {"--group", "group-" + client}, {"--partition", "0,1,2"}} {
			r := b.run(t, "consume", append(way, "--client", client, "-n", "3000")...)
			all(t, r, 3000)
			for _, name := range []string{"lost", "duplicate", "reordered", "foreign", "lag"} {
				if r.Extra[name] != 0.0 {
					t.Errorf("%s %v: %s is %v, want 0", client, way, name, r.Extra[name])
				}
			}
			if r.Extra["transfer_from"] != "due" || r.Latency["transfer"].Count != 3000 {
				t.Errorf("%s %v: transfer of %d records from %v", client, way, r.Latency["transfer"].Count, r.Extra["transfer_from"])
			}
		}
	}
}

// takt kafka e2e sends and receives in one process.
func TestRealKafkaE2E(t *testing.T) {
	b := kafka(t)
	for _, client := range []string{"takt", "franz", "sarama", "sarama-async"} {
		t.Run(client, func(t *testing.T) {
			b.produce(t, "-n", "100") // records of another run, which e2e must ignore
			r := b.run(t, "e2e", "--client", client, "--rate", "1000/s", "--duration", "2s", "--required-acks", "all")
			all(t, r, 2000)
			for name, want := range map[string]any{"received": 2000.0, "lost": 0.0, "duplicate": 0.0, "reordered": 0.0, "foreign": 0.0} {
				if r.Extra[name] != want {
					t.Errorf("%s is %v, want %v", name, r.Extra[name], want)
				}
			}
			for _, name := range []string{"ack", "transfer"} {
				if n := r.Latency[name].Count; n != 2000 {
					t.Errorf("%s: %d values, want 2000", name, n)
				}
			}
			list, _ := b.read(t, 2100, kgo.ReadUncommitted())
			whole(t, runOf(list, r), 2000)
		})
	}
}
