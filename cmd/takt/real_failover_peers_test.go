//go:build real

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// beside runs a command, and a fault 6 s after its start, which leaves Java 3 s to start.
func beside(t *testing.T, fault string, name string, args ...string) string {
	t.Helper()
	timer := time.AfterFunc(6*time.Second, func() { _ = exec.Command("sh", "-c", fault).Run() })
	defer timer.Stop()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Logf("%s: %v", name, err)
	}
	return string(out)
}

// ProducerPerformance of Kafka in the same outage: it measures from the instant at which it hands a
// record to its client, and says nothing of the outage.
func TestRealFailoverPeersKafka(t *testing.T) {
	c := startCluster(t)
	c.create(t, 3)
	libs, _, _ := strings.Cut(os.Getenv("TAKT_FAILOVER"), " ")
	out := beside(t, c[leading].kill("KILL"), "java", "-Xmx256m", "-cp", libs+"/*", "org.apache.kafka.tools.ProducerPerformance",
		"--topic", topicOf(t), "--num-records", "15000", "--record-size", "100", "--throughput", "1000",
		"--producer-props", "bootstrap.servers="+c.brokers(), "acks=all")
	c.await(t)
	n := 0
	for _, end := range ends(t, c.client(t), topicOf(t)) {
		n += int(end)
	}
	t.Logf("PEER\n%s\nthe topic has %d records", out, n)
	if !strings.Contains(out, "15000 records sent") {
		t.Error("the peer did not end its run")
	}
}

// artemis perf in the same outage.
func TestRealFailoverPeersArtemis(t *testing.T) {
	p := startPair(t)
	url := "(tcp://" + p.nodes[0].direct + ",tcp://" + p.nodes[1].direct + ")?ha=true&reconnectAttempts=-1"
	out := beside(t, p.nodes[0].kill("KILL"), filepath.Join(p.programs, "bin", "artemis"), "perf", "client", "--user", "takt", "--password", "takt",
		"--url", url, "--rate", "1000", "--duration", "20", "--warmup", "0", "--persistent", "--max-pending", "200", "--show-latency", "queue://PEER")
	p.await(t)
	t.Logf("PEER\n%s\nthe queue has %+v", out, p.active(t).queues(t)["PEER"])
}
