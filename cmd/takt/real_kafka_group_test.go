//go:build real

package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file compare what takt says about its consumer groups with what Kafka's own tool says.

// describe returns the rows of kafka-consumer-groups --describe, by the names of its columns.
func (b broker) describe(t *testing.T, group string, args ...string) (rows []map[string]string) {
	cmd := exec.CommandContext(t.Context(), "java", append([]string{
		"-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(b.folder, "libs", "*"), "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
		"--bootstrap-server", b.addr(0), "--describe", "--group", group, "--timeout", "60000",
	}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
		return nil
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		switch words := strings.Fields(line); {
		case len(words) < 4:
		case words[0] == "GROUP":
			names = words
		case len(names) > 0 && words[0] == group:
			row := map[string]string{}
			for i, w := range words[:min(len(words), len(names))] {
				row[names[i]] = w
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Errorf("no rows in %s", out)
	}
	return rows
}

// sameLag compares the lag of each partition with Kafka's own.
func sameLag(t *testing.T, r *takt.Report, rows []map[string]string) (sum float64) {
	t.Helper()
	topics, _ := r.Extra["topics"].(map[string]any)
	for _, row := range rows {
		all, _ := r.Extra["partitions_received"].(map[string]any)
		if one, ok := topics[row["TOPIC"]].(map[string]any); ok {
			all = one["partitions_received"].(map[string]any)
		}
		one, _ := all[row["PARTITION"]].(map[string]any)
		text := row["LAG"]
		if text == "-" { // nothing is committed, and the group reads from the beginning
			text = row["LOG-END-OFFSET"]
		}
		lag, err := strconv.ParseFloat(text, 64)
		if err != nil || one["lag"] != lag {
			t.Errorf("%s %s: takt says %v, Kafka a lag of %s", row["TOPIC"], row["PARTITION"], one, text)
		}
		sum += lag
	}
	return sum
}

// A group of static members on two topics stops before the end. Kafka's own tool shows the
// same lag and the same members.
func TestRealKafkaGroupLag(t *testing.T) {
	b := kafka(t)
	one, two := topicOf(t), topicOf(t)+".two"
	t.Cleanup(func() { b.drop(t, two) })
	both := one + "=3," + two + "=1"
	all(t, b.produce(t, "--topic", both, "-n", "4000", "--message-batch-size", "50"), 4000)
	r := b.run(t, "consume", "--topic", both, "--group", one, "--members", "3", "--group-instance-id", "static", "-n", "2500", "--duration", "30s")
	all(t, r, 2500)
	var offsets, members []map[string]string
	var asked sync.WaitGroup
	asked.Go(func() { offsets = b.describe(t, one, "--offsets") })
	asked.Go(func() { members = b.describe(t, one, "--members") })
	asked.Wait()
	if sum := sameLag(t, r, offsets); len(offsets) != 2*partitions || sum != 1500 || r.Extra["lag"] != sum {
		t.Errorf("takt says a lag of %v, Kafka %v in %d partitions; want 1500", r.Extra["lag"], sum, len(offsets))
	}
	var names []string
	for _, m := range members {
		names = append(names, m["GROUP-INSTANCE-ID"])
	}
	if slices.Sort(names); !slices.Equal(names, []string{"static-1", "static-2", "static-3"}) {
		t.Errorf("Kafka has the members %v", members)
	}
}

// A group that rebalances during the load reads everything. Nobody who leaves in good order makes it read
// anything again; killed members do, and until then the partition has no records.
func TestRealKafkaRebalance(t *testing.T) {
	b := kafka(t)
	for _, c := range []struct {
		name, load, args string
		killed, static   bool
	}{
		{"killed", "10s", "--restart-every 7s --duration 22s --restart-kill --session-timeout 6s", true, false},
		{"dynamic", "7s", "--restart-every 2500ms --duration 9s --session-timeout 6s", false, false},
		{"static", "7s", "--restart-every 2500ms --duration 9s --session-timeout 6s --group-instance-id s", false, true},
		{"consumer", "7s", "--restart-every 2500ms --duration 9s --group-protocol consumer", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			group := topicOf(t)
			b.produce(t, "-n", "3")
			sent := make(chan *takt.Report, 1)
			go func() {
				r, _, _ := runOnce(t, t.Context(), "kafka produce", []string{"--brokers", b.addr(0), "--topic", group, "--rate", "300/s", "--duration", c.load, "--message-batch-size", "20"})
				sent <- r
			}()
			r := b.run(t, "consume", append([]string{"--group", group, "--members", "3"}, strings.Fields(c.args)...)...)
			again, _ := r.Extra["reread"].(float64)
			lag, _ := r.Extra["lag"].(float64) // of partitions that nobody had at the end
			if n := (<-sent).Counts.OK + 3; r.Counts.OK+uint64(lag) != n+uint64(again) || r.Extra["lost"] != 0.0 || r.Extra["duplicate"] != again {
				t.Errorf("%d records were sent, counts %+v, extra %v", n, r.Counts, r.Extra)
			}
			if again > 0 != c.killed {
				t.Errorf("%v records came again: %v", again, r.Extra)
			}
			if rebalances, moved := r.Extra["rebalances"].(float64), r.Extra["partitions_moved"]; c.static && (rebalances != 0 || moved != 0.0) || !c.static && rebalances == 0 {
				t.Errorf("%v rebalances, %v partitions moved", rebalances, moved)
			}
			pause := r.Latency["pause"]
			if c.killed && pause.Count == 0 {
				t.Error("nobody noticed that a member was killed")
			}
			if c.killed { // what the last killed member had not committed is still a lag for Kafka
				return
			}
			if sum := sameLag(t, r, b.describe(t, group, "--offsets")); sum != lag { // a slow machine ends the run before a restarted member has its partitions again
				t.Errorf("a lag of %v, Kafka says %v", lag, sum)
			}
			t.Logf("%v rebalances, %d pauses up to %.3g ms, %v records again", r.Extra["rebalances"], pause.Count, pause.Max/1000, again)
		})
	}
}

// The records of a topic are captured, and written to another topic: each partition gets the same ones.
func TestRealKafkaCapture(t *testing.T) {
	b := kafka(t)
	all(t, b.produce(t, "--key", "k{{randInt 1 50}}", "--header", "color: red", "--tombstones", "10%", "--rate", "2000/s", "-n", "2000", "--message-batch-size", "50"), 2000)
	file := filepath.Join(t.TempDir(), "records.jsonl.zst")
	r := b.run(t, "consume", "--exit", "--capture", file)
	all(t, r, 2000)
	again := topicOf(t) + ".again"
	t.Cleanup(func() { b.drop(t, again) })
	w := b.run(t, "produce", "--topic", again, "--create-topic", "--recorded", file, "--speed", "2x", "--message-batch-size", "50", "--required-acks", "all")
	all(t, w, 2000)
	if w.DurationS < 0.4 || w.DurationS > 0.8 { // when the records are due, not when they were written
		t.Errorf("1 s of records at twice the speed were due within %v s", w.DurationS)
	}
	was, is := r.Extra["partitions_received"].(map[string]any), w.Extra["partitions"].(map[string]any)
	for p, one := range was {
		if got := one.(map[string]any)["received"]; got != is[p] {
			t.Errorf("partition %s had %v records, and has %v", p, got, is[p])
		}
	}
}
