//go:build real

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// beside runs a command, and a fault 3 s after the command first writes the mark: Java starts slowly.
func beside(t *testing.T, fault, mark, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = cmd.Stdout
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	var once sync.Once
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&text, lines.Text())
		if strings.Contains(lines.Text(), mark) {
			once.Do(func() { time.AfterFunc(3*time.Second, func() { _ = exec.Command("sh", "-c", fault).Run() }) })
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Logf("%s: %v", name, err)
	}
	return text.String()
}

// ProducerPerformance of Kafka in the same outage: it measures from the instant at which it hands a
// record to its client, and says nothing of the outage.
func TestRealFailoverPeersKafka(t *testing.T) {
	c := startCluster(t)
	c.create(t, 3)
	libs, _, _ := strings.Cut(os.Getenv("TAKT_FAILOVER"), " ")
	out := beside(t, c[leading].kill("KILL"), "records sent", "java", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", libs+"/*", "org.apache.kafka.tools.ProducerPerformance",
		"--topic", topicOf(t), "--num-records", "25000", "--record-size", "100", "--throughput", "1000",
		"--producer-props", "bootstrap.servers="+c.brokers(), "acks=all")
	c.await(t)
	n := 0
	for _, end := range ends(t, c.client(t), topicOf(t)) {
		n += int(end)
	}
	t.Logf("PEER\n%s\nthe topic has %d records", out, n)
	if !strings.Contains(out, "25000 records sent") {
		t.Error("the peer did not end its run")
	}
}

// artemis perf in the same outage.
func TestRealFailoverPeersArtemis(t *testing.T) {
	p := startPair(t)
	url := "(tcp://" + p.nodes[0].direct + ",tcp://" + p.nodes[1].direct + ")?ha=true&reconnectAttempts=-1"
	out := beside(t, p.nodes[0].kill("KILL"), "completed:", filepath.Join(p.programs, "bin", "artemis"), "perf", "client", "--user", "takt", "--password", "takt",
		"--url", url, "--rate", "1000", "--duration", "20", "--warmup", "0", "--persistent", "--max-pending", "200", "--show-latency", "queue://PEER")
	t.Logf("PEER\n%s", out)
	p.await(t)
	t.Logf("the queue has %+v", p.active(t).queues(t)["PEER"])
}
