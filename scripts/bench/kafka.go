package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// kafkaBatch is the number of records in a batch, as in sangrenel's example.
const kafkaBatch = 500

const (
	// kafkaWriters is how many batches takt has in flight: 5 requests of one batch for each of 3
	// partitions, and 3 batches that are filled meanwhile. ProducerPerformance has as many requests
	// in flight, and 32 MiB that wait. With takt's default of 5, which is sangrenel's, takt waits
	// for the broker.
	kafkaWriters = "18"
	kafkaShare   = "6" // kafkaWriters of each of 3 workers
	kafkaRounds  = 3
	kafkaSeconds = 30 // length of a run at a rate
	// kafkaWarm is the number of warm-up runs: the broker's JVM serves the third run twice as fast
	// as the first.
	kafkaWarm = 3
)

// kafkaRates are the rates at which clients are compared, in records a second.
var kafkaRates = []int{1000, 20_000, 100_000}

// memoryFolder contains the broker's log if the machine has memoryNeeded for the log and as much for
// everything else. On disk, writing the log back takes CPU from broker and client, and slows down
// the fast clients.
const memoryFolder, memoryNeeded = "/dev/shm", 8 << 30

// logFolder is the folder of the broker's log; "": on disk.
func logFolder() string {
	var machine syscall.Sysinfo_t
	var folder syscall.Statfs_t
	if syscall.Sysinfo(&machine) != nil || machine.Totalram*uint64(machine.Unit) < 2*memoryNeeded ||
		syscall.Statfs(memoryFolder, &folder) != nil || folder.Bavail*uint64(folder.Bsize) < memoryNeeded {
		return ""
	}
	return memoryFolder
}

// kafkaExperiments compares takt with the programs that come with Kafka. A JVM needs seconds to warm
// up, so the runs are long and few. The broker is not pinned: on one core it would be the
// bottleneck.
func (b *bench) kafkaExperiments() []experiment {
	log := "on disk"
	if logFolder() != "" {
		log = "in memory"
	}
	place := fmt.Sprintf("The broker is Kafka 4.0.0 of scripts/servers: one node, 3 partitions, its log %s. Nothing is pinned: broker and client share the cores. ", log)
	var all []experiment
	for _, size := range []int{300, 1024} {
		all = append(all, experiment{
			name: fmt.Sprintf("Kafka, produce, %d bytes", size),
			text: fmt.Sprintf("%sEach variant sends %d records in each of %d rounds, after the broker has processed %d times as many. The settings are batches of %d records, linger 5 ms, acks of the leader, no compression, and 5 requests in flight on a connection. takt has at most %s batches in flight; ProducerPerformance has as many as its 32 MiB allow. A broker serves one request of a connection at a time; takt has one connection, or one for each worker. sarama is sangrenel's client, with sangrenel's sync batches. The JVM's figures exclude its first 10 s; takt's are those of the whole run.",
				place, b.records, kafkaRounds, kafkaWarm, kafkaBatch, kafkaWriters),
			server: server{name: "kafka", fill: b.toProduce(size)}, rounds: kafkaRounds, unit: "record", table: brokerTable,
			count: b.records, variants: b.producers(size),
		})
	}
	for _, rate := range kafkaRates {
		all = append(all, experiment{
			name: fmt.Sprintf("Kafka, produce, 300 bytes, %d/s", rate),
			text: fmt.Sprintf("%sEach variant sends for %d s in each of %d rounds. takt sends with --linger 5ms, in batches of 16 KiB, which are the defaults of Kafka 4.0's producer. The JVM's CPU excludes its first 10 s; that of the broker is of whole runs.",
				place, kafkaSeconds, kafkaRounds),
			server: server{name: "kafka", fill: b.toProduce(300)}, rounds: kafkaRounds, unit: "record", table: brokerTable,
			count: rate * kafkaSeconds, variants: b.paced(rate),
		})
	}
	return append(all, experiment{
		name: "Kafka, consume, 300 bytes",
		text: fmt.Sprintf("%sOne consumer reads %d records from the beginning, in one round. The JVM's figures exclude its first 10 s; takt's are those of the whole run.",
			place, b.records),
		server: server{name: "kafka", fill: b.toConsume}, rounds: 1, unit: "record", table: maxTable,
		variants: b.consumers(),
	})
}

func (b *bench) producers(size int) []variant {
	batch := strconv.Itoa(kafkaBatch * (size + 32)) // 32 bytes: what a record needs beside its message
	java := []string{"--topic", "bench", "--num-records", b.count(), "--throughput", "-1", "--producer-props", "bootstrap.servers=URL",
		"acks=1", "linger.ms=5", "batch.size=" + batch, "compression.type=none", "max.in.flight.requests.per.connection=5"}
	common := b.taktProduce(size, "--batch-bytes", batch, "--linger", "5ms")
	takt := append(slices.Clone(common), "--writers-per-worker", kafkaWriters)
	return []variant{
		{"takt", "takt", takt, ""},
		{"ProducerPerformance", "java", javaArgs("ProducerPerformance", append(java, "--record-size", strconv.Itoa(size))...), ""},
		{"ProducerPerformance, messages of a file", "java", javaArgs("ProducerPerformance", append(java, "--payload-file", payloadFile(size))...), ""},
		{"takt --workers 3", "takt", append(common, "--workers", "3", "--writers-per-worker", kafkaShare), ""},
		{"takt --client franz", "takt", append(slices.Clone(takt), "--client", "franz"), ""},
		{"takt --client sarama", "takt", append(slices.Clone(takt), "--client", "sarama"), ""},
	}
}

// paced are producers at a rate, with the defaults of Java's producer and with acks of the leader.
func (b *bench) paced(rate int) []variant {
	n := strconv.Itoa(rate * kafkaSeconds)
	java := []string{"--topic", "bench", "--num-records", n, "--throughput", strconv.Itoa(rate), "--record-size", "300", "--producer-props", "bootstrap.servers=URL"}
	takt := []string{"kafka", "produce", "--no-store", "--progress", "none", "-o", "json", "--brokers", "URL", "--topic", "bench", "-n", n,
		"--message-size", "300", "--rate", strconv.Itoa(rate) + "/s", "--linger", "5ms"}
	all := append(slices.Clone(takt), "--required-acks", "all")
	return []variant{
		{"takt", "takt", takt, ""},
		{"ProducerPerformance, acks=1", "java", javaArgs("ProducerPerformance", append(slices.Clone(java), "acks=1")...), ""},
		{"takt --required-acks all", "takt", all, ""},
		{"ProducerPerformance", "java", javaArgs("ProducerPerformance", java...), ""},
		{"takt --required-acks all --client franz", "takt", append(slices.Clone(all), "--client", "franz"), ""},
	}
}

func (b *bench) consumers() []variant {
	takt := []string{"kafka", "consume", "--no-store", "--progress", "none", "-o", "json", "--brokers", "URL", "--topic", "bench", "-n", b.count()}
	return []variant{
		{"takt", "takt", takt, ""},
		{"ConsumerPerformance", "java", javaArgs("ConsumerPerformance", "--bootstrap-server", "URL", "--topic", "bench", "--messages", b.count(),
			"--show-detailed-stats", "--reporting-interval", "1000"), ""},
		{"takt --client sarama", "takt", append(takt, "--client", "sarama"), ""},
	}
}

func (b *bench) count() string { return strconv.Itoa(b.records) }

func (b *bench) taktProduce(size int, more ...string) []string {
	return append([]string{"kafka", "produce", "--no-store", "--progress", "none", "-o", "json", "--brokers", "URL", "--topic", "bench", "-n", b.count(),
		"--message-size", strconv.Itoa(size), "--message-batch-size", strconv.Itoa(kafkaBatch)}, more...)
}

// javaArgs uses the memory and garbage collector settings of Kafka's own scripts.
func javaArgs(class string, more ...string) []string {
	return append([]string{"-Xmx512M", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", "LIBS/*", "org.apache.kafka.tools." + class}, more...)
}

// payloadFile is the file with messages of that size.
func payloadFile(size int) string { return fmt.Sprintf("bin/messages-%d.txt", size) }

// toProduce creates a topic and 1000 different messages, and warms up the broker.
func (b *bench) toProduce(size int) func(server) error {
	return func(s server) error {
		var text strings.Builder
		for i := range 1000 {
			line := strings.Repeat(fmt.Sprintf("%04d the quick brown fox jumps over the lazy dog ", i), size/48+1)
			text.WriteString(line[:size] + "\n")
		}
		if err := os.WriteFile(payloadFile(size), []byte(text.String()), 0o644); err != nil {
			return err
		}
		if err := s.makeTopic(); err != nil {
			return err
		}
		for range kafkaWarm {
			if _, err := b.producers(size)[0].run(s, 0); err != nil {
				return err
			}
		}
		return nil
	}
}

// toConsume creates a topic without a size limit, and fills it.
func (b *bench) toConsume(s server) error {
	if err := s.makeTopic("--config", "retention.bytes=-1"); err != nil {
		return err
	}
	_, err := variant{"", "takt", b.taktProduce(300), ""}.run(s, 0)
	return err
}

// startKafka starts the broker and prepares its topic.
func (s server) startKafka() (server, error) {
	cmd := exec.Command("scripts/servers", "--yes", "start", "kafka")
	cmd.Env = append(os.Environ(), "KAFKA_DATA="+logFolder())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return s, err
	}
	addr, folder, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	s.url, s.libs = addr, folder+"/libs"
	pid, err := os.ReadFile(folder + "/pid")
	if err == nil {
		s.pid, err = strconv.Atoi(strings.TrimSpace(string(pid)))
	}
	s.stop = func() { _ = exec.Command("scripts/servers", "stop", "kafka").Run() }
	if err == nil {
		err = s.fill(s)
	}
	if err != nil {
		s.stop()
	}
	return s, err
}

func (s server) makeTopic(more ...string) error {
	args := javaArgs("TopicCommand", append([]string{"--bootstrap-server", "URL", "--create", "--topic", "bench", "--partitions", "3"}, more...)...)
	words := variant{"", "java", args, ""}.command(s, 0)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot create the topic: %w: %s", err, out)
	}
	return nil
}
