//go:build real

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file break one of three brokers of Kafka while takt runs. They compare the outages
// and the ledger of takt with the leaders and the ends that the other brokers report.

// node is a broker of a cluster, with a proxy between it and takt.
type node struct {
	dir    string
	direct int // port without the proxy
	proxy  *middle
}

// cluster is three brokers, each also a controller.
type cluster []*node

// nodeProperties has the settings of a broker: its number, ports and folder are filled in.
const nodeProperties = `process.roles=broker,controller
node.id=%[1]d
controller.quorum.voters=%[2]s
controller.listener.names=CONTROLLER
listeners=CLIENT://127.0.0.1:%[3]d,DIRECT://127.0.0.1:%[4]d,CONTROLLER://127.0.0.1:%[5]d
advertised.listeners=CLIENT://%[6]s,DIRECT://127.0.0.1:%[4]d
listener.security.protocol.map=CLIENT:PLAINTEXT,DIRECT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=DIRECT
log.dirs=%[7]s/data
auto.create.topics.enable=false
min.insync.replicas=2
offsets.topic.replication.factor=3
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.index.size.max.bytes=1048576
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
`

// nodeScript starts a broker, whose pid is then in the file pid.
const nodeScript = `#!/bin/sh
cd %[1]s
echo $$ >pid
exec java -Xmx256m -XX:+UseSerialGC -Dorg.slf4j.simpleLogger.showDateTime=true -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS \
	-Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Dorg.slf4j.simpleLogger.log.org.apache.kafka.controller=info \
	-Dorg.slf4j.simpleLogger.log.state.change.logger=info -cp '%[2]s/*' kafka.Kafka server.properties >>out 2>&1 </dev/null
`

// startCluster starts the brokers. TAKT_FAILOVER is what scripts/servers start failover prints.
func startCluster(t *testing.T) cluster {
	t.Helper()
	libs, _, ok := strings.Cut(os.Getenv("TAKT_FAILOVER"), " ")
	if !ok {
		t.Fatal("TAKT_FAILOVER is not what scripts/servers start failover prints; run scripts/test-real --wide")
	}
	port := func() int { n, _ := strconv.Atoi(freePort(t)); return n }
	c := cluster{}
	voters, ports := []string{}, [][2]int{}
	for i := range 3 {
		client, controller := port(), port()
		voters, ports = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", i+1, controller)), append(ports, [2]int{client, controller})
		c = append(c, &node{dir: filepath.Join(t.TempDir(), fmt.Sprint("node", i+1)), direct: port(), proxy: between(t, fmt.Sprint("127.0.0.1:", client))})
	}
	for i, n := range c {
		text := fmt.Sprintf(nodeProperties, i+1, strings.Join(voters, ","), ports[i][0], n.direct, ports[i][1], n.proxy.addr, n.dir)
		n.write(t, "server.properties", text)
		n.write(t, "start", fmt.Sprintf(nodeScript, n.dir, libs))
		format := exec.Command("java", "-Xmx128m", "-cp", libs+"/*", "kafka.tools.StorageTool", "format", "-t", "takttakttakttakttaktQ", "-c", filepath.Join(n.dir, "server.properties"))
		if out, err := format.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Cleanup(func() {
		for _, n := range c {
			_ = exec.Command("sh", "-c", n.kill("KILL")).Run()
		}
	})
	for _, n := range c {
		shell(t, n.begin())
	}
	c.await(t)
	return c
}

func (n *node) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func shell(t *testing.T, command string) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// The commands of a --fault.

func (n *node) kill(signal string) string {
	return fmt.Sprintf("kill -%s $(cat %s/pid)", signal, n.dir)
}

func (n *node) begin() string {
	return fmt.Sprintf("setsid %s/start >/dev/null 2>&1 </dev/null & sleep 0.3", n.dir)
}

func (n *node) freeze() string {
	return n.kill("STOP") + "; sleep 5; " + n.kill("CONT")
}

func (n *node) restart() string {
	return fmt.Sprintf("%s; while %s 2>/dev/null; do sleep 0.05; done; %s", n.kill("TERM"), n.kill("0"), n.begin())
}

func (n *node) hide(mode string) string {
	return n.proxy.command(mode) + "; sleep 5; " + n.proxy.command(modePass)
}

func (n *node) alive() bool { return exec.Command("sh", "-c", n.kill("0")).Run() == nil }

// client asks the brokers without the proxies.
func (c cluster) client(t *testing.T) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.direct()...), kgo.MetadataMinAge(10*time.Millisecond), kgo.RequestRetries(3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func (c cluster) direct() (list []string) {
	for _, n := range c {
		list = append(list, fmt.Sprint("127.0.0.1:", n.direct))
	}
	return list
}

func (c cluster) brokers() string {
	list := []string{}
	for _, n := range c {
		list = append(list, n.proxy.addr)
	}
	return strings.Join(list, ",")
}

// until waits for a condition, for at most three minutes: Java starts slowly on a busy machine.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within three minutes: " + what)
		}
	}
}

// await starts brokers that do not run, and waits until all know each other.
func (c cluster) await(t *testing.T) {
	t.Helper()
	for _, n := range c {
		if !n.alive() {
			shell(t, n.begin())
		}
	}
	for i, n := range c {
		cl := n.client(t)
		until(t, fmt.Sprint("broker ", i+1, " knows three brokers"), func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, cl)
			return err == nil && len(resp.Brokers) == len(c)
		})
		cl.Close()
	}
}

// create creates the topic of the test: broker 1 leads two partitions, broker 2 one,
// broker 3 only follows.
func (c cluster) create(t *testing.T, replicas int) {
	t.Helper()
	cl, topic := c.client(t), topicOf(t)
	req := kmsg.NewPtrCreateTopicsRequest()
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = topic, -1, -1
	for p := range int32(partitions) {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = p, []int32{1 + p%2, 2 - p%2, 3}[:replicas]
		one.ReplicaAssignment = append(one.ReplicaAssignment, a)
	}
	req.Topics = append(req.Topics, one)
	if resp, err := req.RequestWith(t.Context(), cl); err != nil || resp.Topics[0].ErrorCode != 0 {
		t.Fatalf("%v %+v", err, resp)
	}
	for i, n := range c {
		cl := n.client(t)
		until(t, fmt.Sprint("broker ", i+1, " knows that all replicas are in sync"), func() bool {
			list := partitionsOf(t.Context(), cl, topic)
			return len(list) == partitions && !slices.ContainsFunc(list, func(p kmsg.MetadataResponseTopicPartition) bool {
				return len(p.ISR) != replicas || p.Leader != 1+p.Partition%2
			})
		})
		cl.Close()
	}
}

// client asks only this broker.
func (n *node) client(t *testing.T) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(fmt.Sprint("127.0.0.1:", n.direct)))
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

// partitionsOf asks the seed of a client for a topic.
func partitionsOf(ctx context.Context, cl *kgo.Client, topic string) []kmsg.MetadataResponseTopicPartition {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = &topic
	req.Topics = append(req.Topics, one)
	answer, err := cl.SeedBrokers()[0].RetriableRequest(ctx, req)
	if err != nil {
		return nil
	}
	resp := answer.(*kmsg.MetadataResponse)
	if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 {
		return nil
	}
	return resp.Topics[0].Partitions
}

// leaders are the changes of leaders that broker 2 reports, which no test breaks.
type leaders struct {
	mu   sync.Mutex
	list []change
	last map[int32]int32
}

// change is a move of some partitions from one leader to another.
type change struct {
	at   time.Time
	text string
}

// watch notes changes of leaders until the test ends.
func (c cluster) watch(t *testing.T) *leaders {
	t.Helper()
	cl := c[1].client(t)
	l, ctx := &leaders{last: map[int32]int32{}}, t.Context()
	var done sync.WaitGroup
	done.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			l.compare(partitionsOf(ctx, cl, topicOf(t)))
		}
	})
	t.Cleanup(func() { done.Wait(); cl.Close() })
	return l
}

func (l *leaders) compare(list []kmsg.MetadataResponseTopicPartition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	moved := map[string]int{}
	for _, p := range list {
		if before, known := l.last[p.Partition]; known && before != p.Leader {
			moved[fmt.Sprintf("%d→%d", before, p.Leader)]++
		}
		l.last[p.Partition] = p.Leader
	}
	for _, m := range slices.Sorted(maps.Keys(moved)) {
		l.list = append(l.list, change{time.Now(), fmt.Sprintf("%d of %s", moved[m], m)})
	}
}

// text has the changes with their times since the start of the run.
func (l *leaders) text(start time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return "no change"
	}
	texts := []string{}
	for _, c := range l.list {
		texts = append(texts, fmt.Sprintf("%.1fs %s", c.at.Sub(start).Seconds(), c.text))
	}
	return strings.Join(texts, ", ")
}

// stock is what the topic has of a run.
type stock struct{ stored, distinct int }

func (c cluster) stock(t *testing.T, r *takt.Report) stock {
	t.Helper()
	b := broker{host: "127.0.0.1", port: c[1].direct}
	cl := c.client(t)
	n := 0
	for _, end := range ends(t, cl, topicOf(t)) {
		n += int(end)
	}
	list, _ := b.read(t, n, kgo.ReadUncommitted())
	list = runOf(list, r)
	seen := map[[3]any]bool{}
	for _, f := range list {
		seen[[3]any{f.stream, f.partition, f.number}] = true
	}
	return stock{len(list), len(seen)}
}

// outageText is a line of the table of a report.
func outageText(r *takt.Report) string {
	list := []string{}
	for _, o := range r.Outages {
		to, first := "the end", "none"
		if o.To != nil {
			to, first = fmt.Sprintf("%.1fs", *o.To), fmt.Sprintf("%.1fs", *o.FirstSuccess)
		}
		count := func(n *uint64) string {
			if n == nil {
				return "–"
			}
			return fmt.Sprint(*n)
		}
		list = append(list, fmt.Sprintf("%.1fs to %s, first success after %s, %d parts, failed %d, retried %d, lost %s, doubled %s, out of order %s (%s: %.60s)",
			o.From, to, first, o.Parts, o.Failed, o.Retried, count(o.Lost), count(o.Doubled), count(o.Reordered), o.First, o.Cause))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, "; ")
}

// total is the sum of a count of all outages.
func total(r *takt.Report, of func(takt.Outage) *uint64) (sum uint64) {
	for _, o := range r.Outages {
		if n := of(o); n != nil {
			sum += *n
		}
	}
	return sum
}

// outageCell is a test of the matrix.
type outageCell struct {
	name   string
	fault  func(n *node) string
	who    int  // index of the broker
	out    bool // the producer has an outage
	unread bool // the consumer has one
	flags  string
}

// The indexes of brokers: one leads partitions, the other one only follows.
const (
	leading   = 0
	following = 2
)

func TestRealFailoverKafka(t *testing.T) {
	c := startCluster(t)
	killed := func(n *node) string { return n.kill("KILL") }
	cut := func(n *node) string { return n.proxy.command(modeCut) }
	hole := func(n *node) string { return n.hide(modeHole) }
	refuse := func(n *node) string { return n.hide(modeRefuse) }
	for _, x := range []outageCell{
		{"kill leader", killed, leading, true, true, ""},
		{"kill follower", killed, following, true, false, ""}, // acks all waits for it until it is out of sync
		{"stop leader", (*node).freeze, leading, true, true, ""},
		{"stop follower", (*node).freeze, following, true, false, ""},
		{"restart leader", (*node).restart, leading, true, false, ""},
		{"restart follower", (*node).restart, following, false, false, ""},
		{"cut leader", cut, leading, true, false, ""},
		{"cut follower", cut, following, false, false, ""},
		{"hole leader", hole, leading, true, true, ""},
		{"refuse leader", refuse, leading, true, true, ""},
		{"kill leader local", killed, leading, true, true, "--required-acks local"},
		{"stop leader local", (*node).freeze, leading, true, true, "--required-acks local"},
		{"kill leader franz", killed, leading, true, true, "--client franz"},
		{"stop leader franz", (*node).freeze, leading, true, true, "--client franz"},
		{"cut leader franz", cut, leading, false, false, "--client franz"},
		{"kill leader idempotence", killed, leading, true, true, "--idempotence"},
		{"stop leader idempotence", (*node).freeze, leading, true, true, "--idempotence"},
		{"kill leader sarama", killed, leading, true, true, "--client sarama"},
		{"stop leader sarama", (*node).freeze, leading, true, true, "--client sarama"},
		{"cut leader sarama", cut, leading, false, false, "--client sarama"},
		{"kill leader async", killed, leading, true, true, "--client sarama-async"},
		{"stop leader async", (*node).freeze, leading, true, true, "--client sarama-async"},
	} {
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) { x.test(t, c) })
	}
}

func (x outageCell) test(t *testing.T, c cluster) {
	c.await(t)
	c.create(t, 3)
	warm, _, _ := runOnce(t, t.Context(), "kafka produce", []string{"--brokers", c.brokers(), "--topic", topicOf(t), "--required-acks", "all", "-n", "3000", "--message-batch-size", "10"})
	all(t, warm, 3000) // the first records of a new Java take a second
	seen := c.watch(t)
	flags := strings.Fields("--rate 1000/s --duration 12s --drain 40s --timeout 25s --message-batch-size 100")
	if !strings.Contains(x.flags, "acks") {
		flags = append(flags, "--required-acks", "all")
	}
	flags = slices.Concat(flags, strings.Fields(x.flags), []string{"--brokers", c.brokers(), "--topic", topicOf(t), "--fault", x.fault(c[x.who]) + "@3s"})
	read := make(chan *takt.Report, 1)
	go func() { read <- x.consume(t, c) }()
	r, code, said := runOnce(t, t.Context(), "kafka e2e", flags)
	checkLaws(t, r)
	consumed := <-read
	c.await(t)
	s := c.stock(t, r)
	l := r.Ledger
	t.Logf("CELL %s\n  outages: %s\n  consumer: %s, received %d, duplicate %v, lag %v\n  leaders: %s\n  counts %+v, duplicate %v, lost %v\n  ledger %+v stored %v, topic: %+v\n  errors %v\n  warnings %v", x.name, outageText(r), outageText(consumed), consumed.Counts.OK, consumed.Extra["duplicate"], consumed.Extra["lag"], seen.text(r.StartedAt),
		r.Counts, r.Extra["duplicate"], r.Extra["lost"], l, *l.Stored, s, r.Errors, r.Warnings)
	t.Log(said)
	t.Logf("verdict %v, p50 %.0f p99 %.0f max %.0f", r.Verdict, r.Latency["response"].P50, r.Latency["response"].P99, r.Latency["response"].Max)
	if code != 0 || (len(r.Outages) > 0) != x.out {
		t.Errorf("exit code %d, outages %+v\n%s", code, r.Outages, said)
	}
	lost := total(r, func(o takt.Outage) *uint64 { return o.Lost })
	if *l.Stored != uint64(s.stored) || int(l.Acknowledged)-int(l.Missing) > s.stored || l.Missing != lost || lost > 0 && !strings.Contains(x.flags, "local") {
		t.Errorf("ledger %+v with %d stored, the topic has %+v", l, *l.Stored, s)
	}
	if d := total(r, func(o takt.Outage) *uint64 { return o.Doubled }); len(r.Outages) > 0 && int(d) != s.stored-s.distinct {
		t.Errorf("%d doubled, the topic has %+v", d, s)
	}
	if r.Extra["lost"] != float64(lost) {
		t.Errorf("%d lost in outages, %v in all", lost, r.Extra["lost"])
	}
	if n := total(r, func(o takt.Outage) *uint64 { return &o.Failed }) + lost; n != r.Counts.Failed+r.Counts.Unfinished {
		t.Errorf("%d failed or lost in outages, counts %+v", n, r.Counts)
	}
	if none := len(consumed.Outages) == 0; none && x.unread || !none && x.who == following {
		t.Errorf("outages of the consumer %+v", consumed.Outages)
	}
}

// consume reads the topic beside the run, with the same library if it has a consumer.
func (x outageCell) consume(t *testing.T, c cluster) *takt.Report {
	client := "franz"
	if strings.Contains(x.flags, "sarama") {
		client = "sarama"
	}
	r, _, _ := runOnce(t, t.Context(), "kafka consume", []string{"--brokers", c.brokers(), "--topic", topicOf(t), "--from", "latest", "--duration", "13s", "--client", client})
	return r
}
